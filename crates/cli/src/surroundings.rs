//! What the environment says of the user: folders, and the hosts that records and documents may lead to.

use std::path::{Path, PathBuf};

/// The folder for what can be fetched again.
pub(crate) fn cache() -> Option<PathBuf> {
    let folder = std::env::var_os("XDG_CACHE_HOME").filter(|folder| Path::new(folder).is_absolute()).map(PathBuf::from);
    folder.or_else(|| home().map(|home| home.join(".cache")))
}

pub(crate) fn home() -> Option<PathBuf> {
    std::env::home_dir().filter(|home| home.is_absolute())
}

/// The variable with the hosts to which messages and documents may lead.
pub(crate) const HOSTS: &str = "ISOFORM_HOSTS";

/// The hosts in it.
pub(crate) fn hosts() -> Vec<String> {
    let hosts = std::env::var(HOSTS).unwrap_or_default();
    hosts.split(',').map(|host| host.trim().to_owned()).filter(|host| !host.is_empty()).collect()
}
