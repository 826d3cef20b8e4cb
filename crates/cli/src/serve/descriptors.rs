//! The limit of open file descriptors, which bounds the number of connections.

/// Raises the soft limit of file descriptors to the hard limit: shells often set a soft limit of 1,024
/// where many more are allowed.
#[cfg(unix)]
pub(super) fn raise_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // If this fails, the limit stays as it was.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}

#[cfg(not(unix))]
pub(super) fn raise_limit() {}
