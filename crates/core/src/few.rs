//! A list that holds two elements without an allocation.

/// A list of mostly one or two elements.
///
/// Unlike `SmallVec` it is covariant: a list of long-lived references is also one of short-lived
/// ones, so that a request can borrow its id from elsewhere than its keys.
#[derive(Debug, Clone, Default)]
pub(crate) enum Few<T> {
    #[default]
    None,
    One([T; 1]),
    Two([T; 2]),
    Many(Vec<T>),
}

impl<T> Few<T> {
    #[inline]
    pub(crate) fn as_slice(&self) -> &[T] {
        match self {
            Few::None => &[],
            Few::One(one) => one,
            Few::Two(two) => two,
            Few::Many(many) => many,
        }
    }

    #[inline]
    pub(crate) fn iter(&self) -> std::slice::Iter<'_, T> {
        self.as_slice().iter()
    }

    /// Returns the list with one more element at its end.
    #[inline(always)]
    pub(crate) fn with(self, last: T) -> Few<T> {
        match self {
            Few::None => Few::One([last]),
            Few::One([first]) => Few::Two([first, last]),
            Few::Two([first, second]) => Few::Many(vec![first, second, last]),
            Few::Many(mut many) => {
                many.push(last);
                Few::Many(many)
            }
        }
    }
}

impl<T> FromIterator<T> for Few<T> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Few<T> {
        elements.into_iter().fold(Few::None, Few::with)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_stay_in_order() {
        for count in 0..6 {
            let few: Few<usize> = (0..count).collect();
            assert_eq!(few.as_slice(), (0..count).collect::<Vec<_>>());
        }
    }
}
