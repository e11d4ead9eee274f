//! `v1.session.changes`, `v1.session.undo` and `v1.session.redo`: what calls changed, and how it is put back.
//!
//! An undo is a change of the user's own, as `v1.fs.write` is: it takes turns with the calls, what a rule forbids stays
//! forbidden, and what it replaces is kept under an id of its own, so that it can be undone itself. What it is going to do is
//! durable before it begins; what of it was done is told by what it has kept.

mod history;

use std::path::PathBuf;
use std::sync::Arc;

use rtc_fs::{
    Difference, Error, Extent, PreImage, PreImageFolder, Recovery, RevertPlan, There, ThreeWay, Undo,
    UndoPart, VPath,
};
use rtc_realtime::Caller;
use rtc_tool::Access;
use rtc_types::{Code, Rtc, RtcId, SessionId, TurnId};
use rtc_wire::rpc::{
    CallChange, FileChange, FileChangeKind, Page, PutBack, RefusedFile, RpcError, SessionChanges,
    SessionRedo, SessionUndo, TurnChanges, Undone,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use self::history::{Change, changes, last_undo};
use super::files::{Keeping, Place, blocking, told};
use super::{Realtime, refused};

/// Files of a turn that are told of; the rest is counted.
const MAX_FILES: usize = 1000;

/// Bytes that the diffs of one answer have together, 1 MiB; of further files the diff is left out.
const MAX_DIFFS_BYTES: usize = 1 << 20;

/// Refused files that are told with their diffs.
const MAX_REFUSED: usize = 20;

/// A session's folder on this device, and its calls.
struct Known {
    session: SessionId,
    project: Option<rtc_types::ProjectId>,
    place: Arc<Place>,
    rtcs: Vec<Rtc>,
}

/// What is to be put back at one path.
struct Group {
    path: VPath,
    /// What is kept of it, the first change first.
    images: Vec<(RtcId, u32)>,
    calls: Vec<RtcId>,
    hunks: Vec<u32>,
}

impl Group {
    /// What a part of an undo is to put back.
    fn of(kept: &PreImageFolder, undo: &Undo, part: &UndoPart) -> Result<Self, Error> {
        let mut images = Vec::new();
        for id in undo.redoes.iter().chain(&part.calls) {
            for number in kept.list(*id)? {
                if kept.about(*id, number)?.path == part.path {
                    images.push((*id, number));
                }
            }
        }
        Ok(Self {
            path: part.path.clone(),
            images,
            calls: part.calls.clone(),
            hunks: part.hunks.clone(),
        })
    }

    fn load(&self, kept: &PreImageFolder) -> Result<Vec<PreImage>, Error> {
        let images = self.images.iter();
        images.map(|(rtc, number)| kept.load(*rtc, *number)).collect()
    }

    fn extent(&self) -> Extent<'_> {
        if self.hunks.is_empty() {
            Extent::All
        } else {
            Extent::Hunks(&self.hunks)
        }
    }
}

impl Realtime {
    /// Nothing, if the session is another device's: what it changed is kept there.
    async fn known(&self, session: SessionId) -> Result<Option<Known>, RpcError> {
        let found = self.engine.session(session).await?;
        let found = found.filter(|found| found.entity.deleted_at.is_none());
        let found = found
            .ok_or_else(|| RpcError::new(Code::SessionNotFound, format!("there is no session {session}")))?;
        if found.entity.device_id != self.device {
            return Ok(None);
        }
        let project = found.entity.project_id;
        let root = match project {
            Some(project) => self.engine.project(project).await.map(|project| project.root),
            None => None,
        };
        if project.is_some() && root.is_none() {
            let told = "the session's project is not known any more";
            return Err(RpcError::new(Code::ProjectNotFound, told));
        }
        let place = self.place(project, root.map(PathBuf::from)).await?;
        let rtcs = self.engine.rtcs(session).await?;
        Ok(Some(Known {
            session,
            project,
            place: Arc::new(place),
            rtcs: rtcs.into_iter().map(|rtc| rtc.entity).collect(),
        }))
    }

    pub(super) async fn session_changes(
        &self,
        ask: SessionChanges,
    ) -> Result<Page<TurnChanges, TurnId>, RpcError> {
        let none = Page {
            items: Vec::new(),
            next_cursor: None,
        };
        let Some(known) = self.known(ask.session_id).await? else {
            return Ok(none);
        };
        let path = ask.path.as_ref().map(|path| VPath::parse(path.as_str()));
        let path = path.transpose().map_err(told)?;
        blocking(move |_| {
            let kept = &known.place.pre_images;
            let mut all = changes(kept, known.session, &known.rtcs).map_err(told)?;
            all.retain(|change| ask.turn_id.is_none_or(|turn| turn == change.turn));
            all.retain(|change| path.as_ref().is_none_or(|path| *path == change.path));
            let mut turns: Vec<&[Change]> = all.chunk_by(|one, next| one.turn == next.turn).collect();
            turns.reverse();
            if let Some(cursor) = ask.cursor {
                let at = turns.iter().position(|turn| turn[0].turn == cursor);
                let at =
                    at.ok_or_else(|| RpcError::new(Code::TurnNotFound, "the turn has no changes any more"))?;
                turns.drain(..=at);
            }
            let limit = usize::try_from(ask.limit.get()).unwrap_or(usize::MAX);
            let has_more = turns.len() > limit;
            turns.truncate(limit);
            let mut room = MAX_DIFFS_BYTES;
            let mut items = Vec::new();
            for turn in turns {
                items.push(of_turn(kept, turn, &mut room).map_err(told)?);
            }
            let next_cursor = items.last().filter(|_| has_more).map(|last| last.turn_id);
            Ok(Page { items, next_cursor })
        })
        .await
    }

    pub(super) async fn session_undo(&self, caller: &Caller, ask: SessionUndo) -> Result<Undone, RpcError> {
        self.is_here(caller)?;
        if !ask.hunks.is_empty() && (ask.rtc_id.is_none() || ask.path.is_none()) {
            let told = "hunks are those of what one call did to one file: name both";
            return Err(RpcError::field(Code::InvalidArgument, "hunks", told.to_owned()));
        }
        let path = ask.path.as_ref().map(|path| VPath::parse(path.as_str()));
        let path = path.transpose().map_err(told)?;
        self.put_back(ask.session_id, move |kept, known| {
            let mut all = changes(kept, known.session, &known.rtcs).map_err(told)?;
            all.retain(|change| {
                !change.undone
                    && ask.rtc_id.is_none_or(|rtc| rtc == change.rtc)
                    && ask.turn_id.is_none_or(|turn| turn == change.turn)
                    && path.as_ref().is_none_or(|path| *path == change.path)
            });
            if ask.rtc_id.is_none() && ask.turn_id.is_none() && path.is_none() {
                let last = all.last().map(|change| change.turn);
                all.retain(|change| Some(change.turn) == last);
            }
            if all.is_empty() {
                let told = "there is no change of this session that could be undone";
                return Err(RpcError::new(Code::NothingToUndo, told));
            }
            if all.iter().any(|change| !change.is_over) {
                let told =
                    "a call that made one of these changes still runs; stop the turn, or wait for its end";
                return Err(RpcError::new(Code::RtcInvalidState, told));
            }
            Ok((None, groups(all, &ask.hunks)))
        })
        .await
    }

    pub(super) async fn session_redo(&self, caller: &Caller, ask: SessionRedo) -> Result<Undone, RpcError> {
        self.is_here(caller)?;
        self.put_back(ask.session_id, |kept, known| {
            let nothing = || RpcError::new(Code::NothingToUndo, "there is no undo that could be taken back");
            let undo = last_undo(kept, known.session)
                .map_err(told)?
                .ok_or_else(nothing)?;
            let mut groups: Vec<Group> = Vec::new();
            for number in kept.list(undo).map_err(told)? {
                let path = kept.about(undo, number).map_err(told)?.path;
                match groups.iter_mut().find(|group| group.path == path) {
                    Some(group) => group.images.push((undo, number)),
                    None => groups.push(Group {
                        path,
                        images: vec![(undo, number)],
                        calls: Vec::new(),
                        hunks: Vec::new(),
                    }),
                }
            }
            Ok((Some(undo), groups))
        })
        .await
    }

    /// Puts back what `choose` finds, once it is the user's turn to change files.
    async fn put_back(
        &self,
        session: SessionId,
        choose: impl FnOnce(&PreImageFolder, &Known) -> Result<(Option<RtcId>, Vec<Group>), RpcError>
        + Send
        + 'static,
    ) -> Result<Undone, RpcError> {
        let elsewhere = || RpcError::new(Code::PermissionDenied, "the session is another device's");
        let known = self.known(session).await?.ok_or_else(elsewhere)?;
        let (id, at) = (RtcId::new(self.clock.stamp().mint().uuid()), self.clock.now());
        let turn = self.executor.turn_of_user(known.project).await;
        let turn = turn.map_err(|error| refused(error, Code::Internal))?;
        blocking(move |cancel| {
            let _turn = turn;
            let kept = &known.place.pre_images;
            finish_cut_short(&known.place, known.session, cancel).map_err(told)?;
            let (redoes, groups) = choose(kept, &known)?;
            let undo = Undo {
                id,
                at,
                redoes,
                parts: Vec::new(),
                ended: false,
            };
            carry_out(&known.place, known.session, undo, &groups, cancel)
        })
        .await
    }

    /// Lets the undos come to an end that an earlier process left in the middle.
    pub(super) async fn finish_undos(&self) -> Result<(), RpcError> {
        let place = self.place(None, None).await?;
        let kept = place.pre_images.clone();
        let sessions = blocking(move |_| kept.with_undos_cut_short().map_err(told)).await?;
        for session in sessions {
            let Ok(Some(known)) = self.known(session).await else {
                continue;
            };
            let turn = self.executor.turn_of_user(known.project).await;
            let turn = turn.map_err(|error| refused(error, Code::Internal))?;
            blocking(move |cancel| {
                let _turn = turn;
                finish_cut_short(&known.place, session, cancel).map_err(told)
            })
            .await?;
        }
        Ok(())
    }
}

/// What of the changes is put back at each path, in the order of their first change there.
fn groups(changes: Vec<Change>, hunks: &[u32]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for change in changes {
        let images = change.numbers.iter().map(|number| (change.rtc, *number));
        match groups.iter_mut().find(|group| group.path == change.path) {
            Some(group) => {
                group.images.extend(images);
                group.calls.push(change.rtc);
            }
            None => groups.push(Group {
                images: images.collect(),
                path: change.path,
                calls: vec![change.rtc],
                hunks: hunks.to_vec(),
            }),
        }
    }
    groups
}

/// Plans everything, then does it; nothing, if one file was changed since.
fn carry_out(
    place: &Place,
    session: SessionId,
    mut undo: Undo,
    groups: &[Group],
    cancel: &CancellationToken,
) -> Result<Undone, RpcError> {
    let (project, kept, tag) = (&place.project, &place.pre_images, undo.id.to_string());
    let plan = |group: &Group| {
        let images = group.load(kept)?;
        project.plan_revert(&images, group.extent(), &tag, cancel)
    };
    let (mut order, mut refused) = (Vec::new(), Vec::new());
    for (at, group) in groups.iter().enumerate() {
        place.permit(&["write", "edit"], Access::Write, &group.path)?;
        let as_it_was = match plan(group).map_err(told)? {
            RevertPlan::Refused(three) => {
                refused.push(*three);
                continue;
            }
            RevertPlan::Ready(ready) => {
                let is_some = ready.is_some();
                if is_some {
                    order.push((ready.rank(at), group));
                }
                !is_some
            }
        };
        undo.parts.push(UndoPart {
            path: group.path.clone(),
            calls: group.calls.clone(),
            hunks: group.hunks.clone(),
            as_it_was,
        });
    }
    if !refused.is_empty() {
        return Err(conflict(refused));
    }
    order.sort_by(|(one, _), (other, _)| one.cmp(other));
    kept.keep_undo(session, undo.clone()).map_err(told)?;
    let mut files = Vec::new();
    let mut done = Ok(());
    for (_, group) in order {
        match put_one_back(place, undo.id, group, cancel) {
            Ok(Some(file)) => files.push(file),
            Ok(None) => as_it_was(&mut undo, &group.path),
            Err(error) => {
                done = Err(error);
                break;
            }
        }
    }
    undo.ended = true;
    let ended = kept.keep_undo(session, undo);
    done.and(ended).map_err(|error| {
        let done: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        let mut error = told(error);
        if !done.is_empty() {
            // The list of changes has what is undone by now.
            error.message = format!("{}; put back before that: {}", error.message, done.join(", "));
        }
        error
    })?;
    Ok(Undone { files })
}

/// There was nothing to do at a path.
fn as_it_was(undo: &mut Undo, path: &VPath) {
    for part in undo.parts.iter_mut().filter(|part| part.path == *path) {
        part.as_it_was = true;
    }
}

/// Puts one path back, if it still is what was planned for. Nothing, if there was nothing to do.
fn put_one_back(
    place: &Place,
    undo: RtcId,
    group: &Group,
    cancel: &CancellationToken,
) -> Result<Option<PutBack>, Error> {
    let (project, kept) = (&place.project, &place.pre_images);
    let before = project.there(&group.path, cancel)?;
    // Not from the first plan: of all files together the contents are not kept in memory.
    let images = group.load(kept)?;
    match project.plan_revert(&images, group.extent(), &undo.to_string(), cancel)? {
        RevertPlan::Refused(three) => return Err(Error::ChangedSince { path: three.path }),
        RevertPlan::Ready(ready) => {
            if !project.revert(ready, &mut Keeping::new(kept, undo), cancel)? {
                return Ok(None);
            }
        }
    }
    let after = project.there(&group.path, cancel)?;
    Ok(Some(PutBack {
        path: group.path.as_str().to_owned(),
        kind: kind(before, after),
    }))
}

/// Brings the undos to their end that were cut short: what was begun is tidied up, and what is not put back yet is, where it
/// still can be.
fn finish_cut_short(place: &Place, session: SessionId, cancel: &CancellationToken) -> Result<(), Error> {
    let (project, kept) = (&place.project, &place.pre_images);
    for mut undo in kept.undos(session)? {
        if undo.ended {
            continue;
        }
        let tag = undo.id.to_string();
        // Only the last change can be in the middle.
        if let Some(last) = kept.list(undo.id)?.last().copied() {
            let image = kept.load(undo.id, last)?;
            if project.recover_kept(&image, &tag, cancel)? == Recovery::NotApplied {
                kept.forget(undo.id, last)?;
            }
        }
        let put_back = kept.put_back(undo.id)?;
        let mut order = Vec::new();
        for (at, part) in undo.parts.iter().enumerate() {
            let group = Group::of(kept, &undo, part)?;
            // Of hunks it cannot be seen from the file that they are put back already.
            let is_done = !part.hunks.is_empty() && put_back.contains(&part.path);
            let is_permitted = place
                .permit(&["write", "edit"], Access::Write, &part.path)
                .is_ok();
            if is_done || !is_permitted || group.images.is_empty() {
                continue;
            }
            let images = group.load(kept)?;
            match project.plan_revert(&images, group.extent(), &tag, cancel) {
                Ok(RevertPlan::Ready(ready)) if ready.is_some() => order.push((ready.rank(at), group)),
                Ok(RevertPlan::Ready(_) | RevertPlan::Refused(_)) | Err(Error::ChangedSince { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        order.sort_by(|(one, _), (other, _)| one.cmp(other));
        for (_, group) in order {
            if put_one_back(place, undo.id, &group, cancel)?.is_none() {
                as_it_was(&mut undo, &group.path);
            }
        }
        undo.ended = true;
        kept.keep_undo(session, undo)?;
    }
    Ok(())
}

fn conflict(refused: Vec<ThreeWay>) -> RpcError {
    let count = refused.len();
    let names: Vec<String> = refused
        .iter()
        .take(MAX_REFUSED)
        .map(|three| format!("`{}`", three.path))
        .collect();
    let more = match count.saturating_sub(MAX_REFUSED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let files: Vec<RefusedFile> = refused.into_iter().take(MAX_REFUSED).map(refused_file).collect();
    let told = format!(
        "nothing was put back, because something else than the calls left is there by now: {}{more}",
        names.join(", ")
    );
    RpcError {
        details: Some(json!({ "files": files })),
        ..RpcError::new(Code::FileConflict, told)
    }
}

fn refused_file(three: ThreeWay) -> RefusedFile {
    RefusedFile {
        path: three.path.as_str().to_owned(),
        changed: three.changed,
        since: three.since,
        hash: three.now.hash().map(|hash| hash.to_string()),
        free_hunks: three.free,
    }
}

/// What a turn did, file by file.
fn of_turn(kept: &PreImageFolder, turn: &[Change], room: &mut usize) -> Result<TurnChanges, Error> {
    let mut files: Vec<(&VPath, Vec<&Change>)> = Vec::new();
    for change in turn {
        match files.iter_mut().find(|(path, _)| **path == change.path) {
            Some((_, changes)) => changes.push(change),
            None => files.push((&change.path, vec![change])),
        }
    }
    let more = files.len().saturating_sub(MAX_FILES);
    files.truncate(MAX_FILES);
    let files = files
        .into_iter()
        .map(|(path, changes)| of_file(kept, path, &changes, room));
    Ok(TurnChanges {
        turn_id: turn[0].turn,
        files: files.collect::<Result<_, _>>()?,
        more: u32::try_from(more).unwrap_or(u32::MAX),
    })
}

fn of_file(
    kept: &PreImageFolder,
    path: &VPath,
    changes: &[&Change],
    room: &mut usize,
) -> Result<FileChange, Error> {
    let mut fits = |diff: Option<String>| {
        let diff = diff.filter(|diff| diff.len() <= *room)?;
        *room -= diff.len();
        Some(diff)
    };
    let (first, last) = (changes[0], changes[changes.len() - 1]);
    let of = |first: &Change, last: &Change| {
        let (from, to) = (first.numbers[0], last.numbers[last.numbers.len() - 1]);
        let from = kept.load(first.rtc, from)?;
        Ok::<_, Error>(Difference::of(&from, &kept.load(last.rtc, to)?))
    };
    let whole = of(first, last)?;
    let mut calls = Vec::with_capacity(changes.len());
    for change in changes {
        let own = match changes.len() {
            1 => None,
            _ => Some(of(change, change)?),
        };
        calls.push(CallChange {
            rtc_id: change.rtc,
            tool_name: change.tool_name.clone(),
            hunks: own.as_ref().map_or(whole.hunks, |own| own.hunks),
            diff: own.and_then(|own| fits(own.diff)),
            undone: change.undone,
            undone_hunks: change.undone_hunks.iter().copied().collect(),
        });
    }
    let (added, removed) = whole.lines.unzip();
    Ok(FileChange {
        path: path.as_str().to_owned(),
        kind: kind(whole.before, whole.after),
        added,
        removed,
        diff: fits(whole.diff),
        calls,
        undone: changes.iter().all(|change| change.undone),
    })
}

fn kind(before: There, after: There) -> FileChangeKind {
    match (before, after) {
        (There::Folder, There::Folder) => FileChangeKind::Unchanged,
        (There::Folder, There::Nothing | There::NothingOrEmpty) => FileChangeKind::FolderRemoved,
        (_, There::Folder) => FileChangeKind::FolderCreated,
        (There::Folder, There::File(_)) => FileChangeKind::Created,
        (There::File(before), There::File(after)) if before == after => FileChangeKind::Unchanged,
        (There::File(_), There::File(_)) => FileChangeKind::Changed,
        (There::File(_), There::Nothing | There::NothingOrEmpty) => FileChangeKind::Removed,
        (There::Nothing | There::NothingOrEmpty, There::File(_)) => FileChangeKind::Created,
        (There::Nothing | There::NothingOrEmpty, There::Nothing | There::NothingOrEmpty) => {
            FileChangeKind::Unchanged
        }
    }
}
