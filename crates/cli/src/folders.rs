//! The user's folders, as the system's variables name them.

use std::path::{Path, PathBuf};

/// The folder for what can be fetched again.
pub(crate) fn cache() -> Option<PathBuf> {
    let folder = std::env::var_os("XDG_CACHE_HOME").filter(|folder| Path::new(folder).is_absolute()).map(PathBuf::from);
    folder.or_else(|| home().map(|home| home.join(".cache")))
}

pub(crate) fn home() -> Option<PathBuf> {
    std::env::home_dir().filter(|home| home.is_absolute())
}
