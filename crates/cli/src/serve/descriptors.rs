//! How many connections the machine lets us have.

/// Takes as many file descriptors as we may: shells often give a thousand where many more are allowed.
#[cfg(unix)]
pub(super) fn take_all() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // If that is refused, there are as many as before.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}

#[cfg(not(unix))]
pub(super) fn take_all() {}
