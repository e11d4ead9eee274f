//! The folders that are searched.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Result;

/// What is searched for in files, and what names are.
pub(super) const WORD: &str = "needle";
pub(super) const GLOB: &str = "*found*.txt";

/// Of all folders: with another one, what was made before is made anew.
const VERSION: u32 = 1;

/// Files in a folder before another one begins.
const IN_FOLDER: usize = 40;

/// A folder that is there.
#[derive(Debug)]
pub(super) struct Tree(PathBuf);

impl Tree {
    pub(super) fn root(&self) -> &Path {
        &self.0
    }

    /// Makes a folder, unless an earlier run has made it wholly.
    fn make(folder: &Path, name: &str, fill: impl FnOnce(&Path) -> Result<()>) -> Result<Self> {
        let place = folder.join(format!("tree-{VERSION}-{name}"));
        let (root, whole) = (place.join("root"), place.join("whole"));
        if !whole.exists() {
            if place.exists() {
                fs::remove_dir_all(&place)?;
            }
            fs::create_dir_all(&root)?;
            fill(&root)?;
            fs::write(whole, "")?;
        }
        Ok(Self(root))
    }

    /// A repository of so many files that a search sees, and some more that are left out.
    pub(super) fn of_files(folder: &Path, count: usize) -> Result<Self> {
        Self::make(folder, &format!("files-{count}"), |root| {
            fs::create_dir(root.join(".git"))?;
            fs::write(root.join(".gitignore"), "build/\n*.tmp\n!kept.tmp\n/out\n")?;
            let mut random = Random(7);
            let mut parents = vec![root.to_owned()];
            for number in 0..count.div_ceil(IN_FOLDER) {
                let parent = parents[random.below(parents.len())].clone();
                let folder = parent.join(format!("folder{number}"));
                fs::create_dir(&folder)?;
                if folder.components().count() < root.components().count() + 7 {
                    parents.push(folder.clone());
                }
                for file in 0..IN_FOLDER.min(count - number * IN_FOLDER) {
                    let found = if random.below(50) == 0 { "found" } else { "" };
                    let end = ["rs", "txt", "ts", "md", "json"][random.below(5)];
                    fs::write(
                        folder.join(format!("file{file}{found}.{end}")),
                        content(&mut random),
                    )?;
                }
                match number % 20 {
                    0 => fs::write(folder.join(".gitignore"), "*.log\n/local\n")?,
                    1 => {
                        fs::create_dir(folder.join("build"))?;
                        fs::write(folder.join("build/found.txt"), WORD)?;
                    }
                    2 => fs::write(folder.join("found.tmp"), WORD)?,
                    3 => fs::write(folder.join(".hidden.txt"), WORD)?,
                    _ => {}
                }
            }
            Ok(())
        })
    }

    /// Files of so many bytes each.
    pub(super) fn of_large_files(folder: &Path, (count, bytes): (usize, usize)) -> Result<Self> {
        Self::make(folder, &format!("large-{count}-{bytes}"), |root| {
            for number in 0..count {
                let mut file = std::io::BufWriter::new(fs::File::create(root.join(large_name(number)))?);
                file.write_all(numbered_lines(bytes).as_bytes())?;
                file.flush()?;
            }
            Ok(())
        })
    }

    /// One folder with so many entries.
    pub(super) fn flat(folder: &Path, count: usize) -> Result<Self> {
        Self::make(folder, &format!("flat-{count}"), |root| {
            let mut random = Random(11);
            for number in 0..count {
                fs::write(root.join(format!("{:08x}-{number}", random.next())), "")?;
            }
            Ok(())
        })
    }
}

/// Text of one to four thousand bytes; in one of a hundred files, a line with the word.
fn content(random: &mut Random) -> String {
    let mut text = String::new();
    let length = 1_000 + random.below(3_000);
    let at = if random.below(100) == 0 {
        random.below(length)
    } else {
        usize::MAX
    };
    let mut has_word = false;
    while text.len() < length {
        if text.len() >= at && !has_word {
            text.push_str("    let found = needle();\n");
            has_word = true;
        }
        let _ = writeln!(
            text,
            "    let value{} = compute({});",
            random.below(100),
            random.below(10_000)
        );
    }
    text
}

pub(super) fn large_name(number: usize) -> String {
    format!("log{number}.txt")
}

/// A line of a large file, all equally long.
pub(super) fn numbered_line(number: usize) -> String {
    let word = if number % 100_000 == 99_999 {
        WORD
    } else {
        "normal"
    };
    format!(
        "2026-11-30T12:00:00Z INFO line {number:08} of a long log, {word} as all of them are and will be\n"
    )
}

/// How many lines a large file of so many bytes has.
pub(super) fn large_lines(bytes: usize) -> usize {
    bytes / numbered_line(0).len()
}

/// Whole lines of so many bytes in all.
pub(super) fn numbered_lines(bytes: usize) -> String {
    (0..large_lines(bytes)).map(numbered_line).collect()
}

/// The same numbers at each run.
struct Random(u64);

impl Random {
    /// `splitmix64`
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound.max(1) as u64).unwrap_or(0)
    }
}
