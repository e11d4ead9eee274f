//! What the calls of a session changed, and what of it was undone.

use std::collections::{BTreeSet, HashMap};

use rtc_fs::{Error, PreImageFolder, Undo, UndoPart, VPath};
use rtc_types::{Rtc, RtcId, SessionId, TurnId};

/// What one call did to one file or folder.
pub(super) struct Change {
    pub(super) turn: TurnId,
    pub(super) rtc: RtcId,
    pub(super) tool_name: String,
    /// Whether the call has ended.
    pub(super) is_over: bool,
    pub(super) path: VPath,
    /// The numbers of what is kept of it, ascending; at least one.
    pub(super) numbers: Vec<u32>,
    /// Whether all of it was undone.
    pub(super) undone: bool,
    /// The hunks that were undone by themselves.
    pub(super) undone_hunks: BTreeSet<u32>,
}

/// Everything that is kept of the changes of a session, in the order of its calls. What cannot be read is left out.
pub(super) fn changes(kept: &PreImageFolder, session: SessionId, rtcs: &[Rtc]) -> Result<Vec<Change>, Error> {
    let have_kept = kept.calls()?;
    let mut changes: Vec<Change> = Vec::new();
    for rtc in rtcs.iter().filter(|rtc| have_kept.contains(&rtc.id)) {
        let mut places: HashMap<VPath, usize> = HashMap::new();
        for number in kept.list(rtc.id)? {
            let path = match kept.about(rtc.id, number) {
                Ok(about) => about.path,
                Err(error @ Error::DamagedPreImage { .. }) => {
                    tracing::warn!(%error, "a change cannot be shown");
                    continue;
                }
                Err(error) => return Err(error),
            };
            if let Some(place) = places.get(&path) {
                changes[*place].numbers.push(number);
                continue;
            }
            places.insert(path.clone(), changes.len());
            changes.push(Change {
                turn: rtc.turn_id,
                rtc: rtc.id,
                tool_name: rtc.tool_name.clone(),
                is_over: rtc.status.is_terminal(),
                path,
                numbers: vec![number],
                undone: false,
                undone_hunks: BTreeSet::new(),
            });
        }
    }
    let places: HashMap<(RtcId, VPath), usize> = changes
        .iter()
        .enumerate()
        .map(|(at, change)| ((change.rtc, change.path.clone()), at))
        .collect();
    let undos = kept.undos(session)?;
    for undo in &undos {
        let Some((of, is_undone)) = parts_of(undo, &undos) else {
            continue;
        };
        let put_back = kept.put_back(undo.id)?;
        let came_to = |part: &&UndoPart| part.as_it_was || put_back.contains(&part.path);
        for part in of.iter().filter(came_to) {
            for call in &part.calls {
                let Some(at) = places.get(&(*call, part.path.clone())) else {
                    continue;
                };
                let change = &mut changes[*at];
                match (is_undone, part.hunks.as_slice()) {
                    (_, []) => change.undone = is_undone,
                    (true, hunks) => change.undone_hunks.extend(hunks),
                    (false, hunks) => change.undone_hunks.retain(|hunk| !hunks.contains(hunk)),
                }
            }
        }
    }
    Ok(changes)
}

/// The changes that an undo is about, and whether they are undone after it.
fn parts_of<'u>(undo: &'u Undo, undos: &'u [Undo]) -> Option<(&'u [UndoPart], bool)> {
    match undo.redoes {
        None => Some((&undo.parts, true)),
        Some(redone) => undos
            .iter()
            .find(|undo| undo.id == redone)
            .map(|undo| (undo.parts.as_slice(), false)),
    }
}

/// The last undo that has put something back and was not taken back.
pub(super) fn last_undo(kept: &PreImageFolder, session: SessionId) -> Result<Option<RtcId>, Error> {
    let undos = kept.undos(session)?;
    let mut taken_back = BTreeSet::new();
    for undo in undos.iter().rev() {
        if kept.list(undo.id)?.is_empty() {
            continue;
        }
        match undo.redoes {
            Some(redone) => drop(taken_back.insert(redone)),
            None if !taken_back.contains(&undo.id) => return Ok(Some(undo.id)),
            None => {}
        }
    }
    Ok(None)
}
