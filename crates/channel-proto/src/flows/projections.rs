//! Records without the fields at which sinks do not look: each is made once for an event, however many sinks share it
//! (`spec/channel.md`, "Fields").
//!
//! A projection changes nothing in what a sink gets, and the source may send whole events at any time. So nothing is refused or counted
//! as lost here. The work comes out of the budget for queries; events for which nothing is left are whole.

use super::prices::{self, written};
use super::shares::Asker;
use crate::budget;
use crate::credentials::Principal;
use crate::keys::LinkKey;
use crate::memory::{Body, Draft};
use crate::report::QueryReport;
use isoform_core::plan::Fields;
use isoform_core::{Element, Faults, Format, Plan, Rules, Structure, Verifier, interp};
use isoform_query::Account;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// The most projections of a source, and the most that nodes without credentials have. For others it sends whole events.
const MOST: usize = 16;
const OF_NOBODY: usize = 4;
/// A record is projected if that makes it shorter by this many bytes, and by at least a half.
const SAVED: usize = 512;
/// The bytes that an array of variable length, and a string, are taken to have.
const ARRAY: usize = 1024;
const STRING: usize = 16;
/// A projection remembers how to make records of so many formats of its source. For others, that is found out anew, and paid for.
const FORMATS: usize = 8;

/// The projections of a source.
pub(super) struct Projections<B> {
    all: Vec<Option<Projection<B>>>,
    /// Whether any of them makes a record of the current format.
    is_needed: bool,
    /// A body that was not contiguous.
    body: Vec<u8>,
    /// The latest record.
    made: Vec<u8>,
}

/// Which of them a subscription has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ProjectionKey(usize);

impl ProjectionKey {
    /// A number that others do not have.
    pub(super) fn number(self) -> u64 {
        self.0 as u64
    }
}

struct Projection<B> {
    fields: Fields,
    /// The nodes that share it, each with the principal that it counts under, and its sinks.
    nodes: BTreeMap<LinkKey, (Principal, u32)>,
    /// For some formats of the source, the latest first; `None` where whole events are cheaper.
    narrow: Vec<(Format, Option<Box<Narrow>>)>,
    /// What it makes of the current event, once it is needed; `None` in it if that passes whole.
    current: Option<Option<(Format, B)>>,
    /// How many records it has made.
    made: u64,
}

struct Narrow {
    verifier: Verifier,
    plan: Plan,
    /// About how long its records are.
    left: usize,
}

impl<B> Default for Projections<B> {
    fn default() -> Self {
        Projections { all: Vec::new(), is_needed: false, body: Vec::new(), made: Vec::new() }
    }
}

impl<B> Projections<B> {
    /// Whether any subscription gets less than whole events of the current format.
    #[inline]
    pub(super) fn are_needed(&self) -> bool {
        self.is_needed
    }

    /// A subscription whose sink looks at these fields begins, at a source whose events have this format, if that is known.
    /// `None` if it gets whole events.
    pub(super) fn add(&mut self, paths: &[String], asker: Asker, format: Option<&Format>) -> Option<ProjectionKey> {
        let principal = asker.principal;
        if paths.is_empty() {
            return None;
        }
        let fields = Fields::at(paths.iter().map(String::as_str))?;
        let known = |other: &Option<Projection<B>>| other.as_ref().is_some_and(|other| other.fields == fields);
        let at = match self.all.iter().position(known) {
            Some(at) => at,
            None => {
                let all = self.all.iter().flatten().count();
                let its = self.all.iter().flatten().filter(|other| other.is_of(principal)).count();
                let left = budget::share((MOST - all) as u64, its as u64, principal.is_own());
                if left == 0 || principal.is_nobody() && its >= OF_NOBODY {
                    return None;
                }
                let (nodes, narrow, current) = (BTreeMap::new(), Vec::new(), None);
                let new = Some(Projection { fields, nodes, narrow, current, made: 0 });
                match self.all.iter().position(Option::is_none) {
                    Some(free) => (self.all[free] = new, free).1,
                    None => (self.all.push(new), self.all.len() - 1).1,
                }
            }
        };
        if let Some(projection) = &mut self.all[at] {
            let (of, sinks) = projection.nodes.entry(asker.link).or_insert((principal, 0));
            (*of, *sinks) = (principal, *sinks + 1);
        }
        self.meet(format);
        Some(ProjectionKey(at))
    }

    /// A subscription of a node is resumed, which may have other credentials than before.
    pub(super) fn resume(&mut self, asker: Asker) {
        let its = self.all.iter_mut().flatten().filter_map(|projection| projection.nodes.get_mut(&asker.link));
        its.for_each(|(principal, _)| *principal = asker.principal);
    }

    /// A subscription ends, over this link.
    pub(super) fn remove(&mut self, key: ProjectionKey, link: LinkKey, format: Option<&Format>) {
        let Some(slot) = self.all.get_mut(key.0) else { return };
        if let Some(projection) = slot
            && let Entry::Occupied(mut node) = projection.nodes.entry(link)
        {
            node.get_mut().1 -= 1;
            if node.get().1 == 0 {
                node.remove();
            }
            if projection.nodes.is_empty() {
                *slot = None;
            }
        }
        self.meet(format);
    }

    /// The next events have this format.
    pub(super) fn meet(&mut self, format: Option<&Format>) {
        let Some(format) = format else { return };
        self.is_needed = self.all.iter().flatten().any(|projection| projection.may_make(format));
    }

    /// Another event of this format is being submitted.
    pub(super) fn begin(&mut self, format: &Format) {
        self.all.iter_mut().flatten().for_each(|projection| projection.current = None);
        // With the event before, it may have turned out that whole events are cheaper.
        self.meet(Some(format));
    }

    /// The projections that have made records.
    pub(super) fn reports(&self) -> impl Iterator<Item = QueryReport> {
        let at_work = self.all.iter().flatten().filter(|projection| projection.made > 0);
        at_work.map(|&Projection { ref fields, ref nodes, made, .. }| {
            let account = Account { evaluated: made, passed: made, ..Account::default() };
            let sinks = nodes.values().map(|(_, sinks)| sinks).sum();
            QueryReport { text: format!("fields {fields}"), sinks, unfit: 0, thinned: 0, account }
        })
    }
}

impl<B: Body> Projections<B> {
    /// What a subscription gets in place of the current event; `None` if it gets the event as it is.
    pub(super) fn record(
        &mut self,
        key: ProjectionKey,
        format: &Format,
        draft: &impl Draft<B>,
        pays: &mut impl FnMut(u64) -> bool,
    ) -> Option<(&Format, &B)> {
        let Projections { all, body, made, .. } = self;
        let projection = all.get_mut(key.0)?.as_mut()?;
        if projection.current.is_none() {
            if !projection.meet(format, pays) {
                projection.current = Some(None);
                return None;
            }
            if !projection.is_paid(draft, pays) {
                projection.current = Some(None);
                return None;
            }
            let bytes = draft.contiguous().unwrap_or_else(|| {
                body.clear();
                draft.pieces(&mut |piece| body.extend_from_slice(piece));
                body
            });
            projection.current = Some(projection.project(bytes, made));
        }
        let (format, body) = projection.current.as_ref()?.as_ref()?;
        pays(written(body.length())).then_some((format, body))
    }
}

impl<B> Projection<B> {
    fn is_of(&self, principal: Principal) -> bool {
        self.nodes.values().any(|(of, _)| *of == principal)
    }

    /// Whether it makes records of this format, unless it has yet to find that out.
    fn may_make(&self, format: &Format) -> bool {
        self.narrow.iter().find(|(known, _)| known == format).is_none_or(|(_, narrow)| narrow.is_some())
    }

    /// Whether it makes records of this format. To find that out is paid for, like each record.
    fn meet(&mut self, format: &Format, pays: &mut impl FnMut(u64) -> bool) -> bool {
        match self.narrow.iter().position(|(known, _)| known == format) {
            Some(at) => self.narrow[..=at].rotate_right(1),
            None if pays(prices::meeting(format, format.structure().total_fields())) => {
                self.narrow.truncate(FORMATS - 1);
                self.narrow.insert(0, (format.clone(), narrow(&self.fields, format).map(Box::new)));
            }
            None => return false,
        }
        self.narrow[0].1.is_some()
    }
}

impl<B: Body> Projection<B> {
    /// Pays for a record of the format that it has met last.
    fn is_paid(&self, draft: &impl Draft<B>, pays: &mut impl FnMut(u64) -> bool) -> bool {
        let Some((format, Some(narrow))) = self.narrow.first() else { return false };
        let (length, is_contiguous) = (draft.length(), draft.contiguous().is_some());
        pays(prices::projection(format, narrow.plan.native(), narrow.left, length, is_contiguous))
    }

    /// The record without the other fields.
    fn project(&mut self, bytes: &[u8], made: &mut Vec<u8>) -> Option<(Format, B)> {
        let Narrow { verifier, plan, .. } = self.narrow.first()?.1.as_deref()?;
        // If the body is not valid, the event passes whole: the sink verifies it as well, and says why.
        interp::run_to(plan, verifier.verify(bytes).ok()?, made).ok()?;
        self.made += 1;
        Some((plan.native().clone(), B::made(plan.native(), made)))
    }
}

/// How records of a format lose their other fields, if that makes them much shorter.
fn narrow(fields: &Fields, format: &Format) -> Option<Narrow> {
    let short = fields.project(format).ok()??;
    let (whole, left) = (length(format.structure()), length(short.structure()));
    if whole - left < SAVED || left > whole / 2 {
        return None;
    }
    let plan = Plan::new(format, &short, &Rules::new(), Faults::Error).ok()?;
    Some(Narrow { verifier: Verifier::new(format), plan, left })
}

/// About how long records are.
fn length(structure: &Structure) -> usize {
    let beyond = structure.fields().iter().map(|field| {
        let of_each = match &field.element {
            Element::String => STRING,
            Element::Structure(inner) => length(inner) - inner.size(),
            _ => 0,
        };
        let behind = if field.is_dynamic() { ARRAY } else { 0 };
        of_each.saturating_mul(field.fixed_count().unwrap_or(1)).saturating_add(behind)
    });
    beyond.fold(structure.size(), usize::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Key as _;
    use isoform_core::{Layout, Shape};
    use std::sync::Arc;

    fn format(name: &str) -> Format {
        Shape::new(name).field("step", "i64").field("flow", "double[1000]").on(&Layout::NATIVE).unwrap()
    }

    fn asker(user: u32, link: u32) -> Asker {
        Asker { principal: Principal::User(user), link: LinkKey::of(link, 0) }
    }

    /// Makes a record of an event with so much time. Returns whether there is one, and what was paid for it.
    fn record(
        all: &mut Projections<Arc<[u8]>>,
        key: ProjectionKey,
        format: &Format,
        mut left: u64,
    ) -> (bool, Vec<u64>) {
        let (body, mut paid): (Arc<[u8]>, _) = (vec![0; format.size()].into(), Vec::new());
        let mut pays = |cost| {
            paid.push(cost);
            left.checked_sub(cost).inspect(|rest| left = *rest).is_some()
        };
        all.meet(Some(format));
        all.begin(format);
        (all.are_needed() && all.record(key, format, &body, &mut pays).is_some(), paid)
    }

    #[test]
    fn who_gets_records_pays_for_how_they_are_made() {
        let (mut all, grid) = (Projections::default(), format("Grid"));
        let key = all.add(&["step".into()], asker(1, 1), Some(&grid)).unwrap();
        let meeting = prices::meeting(&grid, grid.structure().total_fields());
        assert_eq!(record(&mut all, key, &grid, meeting - 1), (false, vec![meeting]));
        assert!(all.all[0].as_ref().unwrap().narrow.is_empty(), "nothing was done");
        let (is_made, paid) = record(&mut all, key, &grid, u64::MAX);
        assert_eq!((is_made, paid.len(), paid[0]), (true, 3, meeting));
        assert_eq!(record(&mut all, key, &grid, u64::MAX), (true, paid[1..].to_vec()));
        // Formats in turn.
        let formats: Vec<Format> = (0..=FORMATS).map(|at| format(&format!("Grid{at}"))).collect();
        for format in formats.iter().chain(&formats) {
            assert_eq!(record(&mut all, key, format, u64::MAX).1[0], meeting);
        }
        for format in formats[1..].iter().rev() {
            assert_eq!(record(&mut all, key, format, u64::MAX).1, paid[1..]);
        }
        assert_eq!(all.all[0].as_ref().unwrap().narrow.len(), FORMATS);
        // Of a small record, nothing is left out: once that is known, nobody asks.
        let small = Shape::new("Small").field("step", "i64").on(&Layout::NATIVE).unwrap();
        assert_eq!(
            record(&mut all, key, &small, u64::MAX),
            (false, vec![prices::meeting(&small, small.structure().total_fields())])
        );
        assert_eq!(record(&mut all, key, &small, u64::MAX), (false, vec![]));
    }

    #[test]
    fn a_projection_counts_under_those_who_share_it() {
        let (mut all, grid) = (Projections::<Arc<[u8]>>::default(), format("Grid"));
        let paths = |at: usize| [format!("field{at}")];
        let mut add = |at: usize, asker| all.add(&paths(at), asker, Some(&grid));
        let keys: Vec<ProjectionKey> = (0..8).filter_map(|at| add(at, asker(1, 1))).collect();
        assert_eq!((keys.len(), add(8, asker(1, 1))), (8, None));
        // Another user has its own part, unless it shares as many.
        let own = add(8, asker(2, 2)).unwrap();
        assert!((0..8).all(|at| add(at, asker(2, 2)) == Some(keys[at])));
        assert_eq!(add(9, asker(2, 2)), None);
        // The first one leaves.
        keys.iter().for_each(|&key| all.remove(key, LinkKey::of(1, 0), Some(&grid)));
        assert_eq!(all.all.iter().flatten().count(), 9);
        let mut add = |at: usize, asker| all.add(&paths(at), asker, Some(&grid));
        assert_eq!(add(9, asker(2, 2)), None);
        let other = add(9, asker(1, 1)).unwrap();
        // And comes back with other credentials.
        all.resume(asker(2, 1));
        all.remove(other, LinkKey::of(1, 0), Some(&grid));
        keys.iter().chain([&own]).for_each(|&key| all.remove(key, LinkKey::of(2, 0), Some(&grid)));
        assert_eq!(all.all.iter().flatten().count(), 0);
    }
}
