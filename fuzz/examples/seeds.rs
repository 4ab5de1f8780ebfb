//! Writes the seeds of every target into `<folder>/<target>/`.

use isoform_fuzz::{TARGETS, seeds};
use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| "fuzz/corpus".into()));
    for (target, _) in TARGETS {
        let folder = folder.join(target);
        std::fs::create_dir_all(&folder)?;
        for seed in seeds::of(target) {
            std::fs::write(folder.join(format!("seed-{}", isoform::Token::of(&seed))), seed)?;
        }
    }
    Ok(())
}
