//! libtorch for this clone: a git-ignored link `.libtorch` in the workspace root, which torch-sys builds against.
//!
//! | module | what it holds |
//! |---|---|
//! | [`mod@source`] | which libtorch the environment asks for |
//! | [`given`] | checks of a libtorch that somebody else installed |
//! | [`flavor`] | the two builds of PyTorch's wheels: what is pinned, and which files of them are wanted |
//! | [`cuda`] | NVIDIA's wheels of the CUDA build |
//! | [`cache`] | the user's folder of unpacked wheels: locked, stamped, never half-written |
//! | [`pip`] | downloading wheels with the user's own pip, and its settings |
//! | [`wheel`] | checking and unpacking one wheel |
//! | [`link`] | the link itself |
mod cache;
mod cuda;
mod flavor;
mod given;
mod link;
mod pip;
mod source;
mod wheel;

use std::env;
use std::path::PathBuf;

use crate::failure::{Failure, Outcome};
use crate::workspace::Workspace;

pub use flavor::Flavor;
use source::Source;

/// Makes the link and says where it leads.
pub fn install(workspace: &Workspace, flavor: Flavor) -> Outcome {
    let folder = match source(workspace) {
        Source::Folder(folder) => {
            given::check_folder(&folder)?;
            given::check_flavor(&folder, flavor)?;
            folder
        }
        Source::Python => {
            let folder = given::python_folder()?;
            given::check_flavor(&folder, flavor)?;
            folder
        }
        Source::Wheels => {
            cache::supported(env::consts::OS, env::consts::ARCH)?;
            cache::fetch(flavor, &cache_folder()?)?
        }
    };
    let link = workspace.libtorch_link();
    if link::point(&link, &folder)? {
        forget_old_build(workspace)?;
    }
    eprintln!("libtorch: {} -> {}", link.display(), folder.display());
    Ok(())
}

/// What a build needs: any libtorch of the right version, so that a CUDA build chosen earlier stays.
pub fn ensure(workspace: &Workspace) -> Outcome {
    let linked = given::check_folder(&workspace.libtorch_link()).is_ok();
    if linked && source(workspace) == Source::Wheels {
        return Ok(());
    }
    install(workspace, Flavor::Cpu)
}

fn source(workspace: &Workspace) -> Source {
    let set = |name: &str| env::var_os(name);
    source::choose(
        set("LIBTORCH").as_deref(),
        set("LIBTORCH_USE_PYTORCH").is_some(),
        &workspace.libtorch_link(),
    )
}

/// torch-sys looks at libtorch once and at this link's name after that, so it must look again.
fn forget_old_build(workspace: &Workspace) -> Outcome {
    for profile in ["dev", "release"] {
        crate::step::run(workspace.cargo(&["clean", "--quiet", "--profile", profile, "-p", "torch-sys"]))?;
    }
    Ok(())
}

/// `$XDG_CACHE_HOME/dae/libtorch`, shared by every clone of one user.
fn cache_folder() -> Outcome<PathBuf> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_CACHE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".cache")))
        .map(|cache| cache.join("dae").join("libtorch"))
        .ok_or_else(|| {
            Failure::says(
                "neither XDG_CACHE_HOME nor HOME is set: set XDG_CACHE_HOME to a folder with 3 GB free",
            )
        })
}
