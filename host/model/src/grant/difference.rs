//! Grants compared: what one allows beyond another, and both together. An upgrade asks for just the difference.

use super::{AllowList, Grant, LimitsAsked, Mode, Programs, inner_of, within_reach};
use std::collections::{BTreeMap, BTreeSet};

/// What a new version of a component may be given without asking anew, and what has to be asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upgrade {
    /// In force once the person agrees to what is new; at once where nothing is.
    pub grant: Grant,
    /// What nobody was asked for before.
    pub new: Grant,
}

impl Grant {
    /// What of `self` goes beyond `other`; empty where `other` allows all of it.
    #[must_use]
    pub fn beyond(&self, other: &Self) -> Self {
        // What the other leaves out of a folder, and this one does not, is beyond it.
        let opened = |path: &str| other.except.difference(&self.except).any(|e| inner_of(e, path).is_some());
        let beyond = self.fs.iter().filter(|(path, mode)| !covered(path, **mode, &other.fs) || opened(path));
        let fs = beyond.map(|(path, mode)| (path.clone(), *mode)).collect();
        Self {
            except: within_reach(self.except.iter(), &fs),
            fs,
            http: self.http.beyond(&other.http),
            process: Programs { programs: names_beyond(&self.process.programs, &other.process.programs) },
            env: AllowList { allow: names_beyond(&self.env.allow, &other.env.allow) },
            secrets: AllowList { allow: names_beyond(&self.secrets.allow, &other.secrets.allow) },
            limits: self.limits.beyond(&other.limits),
        }
    }

    /// What either allows.
    #[must_use]
    pub fn join(&self, other: &Self) -> Self {
        let mut fs = self.fs.clone();
        for (path, mode) in &other.fs {
            let held = fs.entry(path.clone()).or_insert(*mode);
            *held = (*held).max(*mode);
        }
        // An exception of one holds where the other does not grant what it leaves out.
        let closed = |e: &&String, by: &Self| by.except.contains(*e) || !by.fs.keys().any(|f| holds(f, e));
        let of_self = self.except.iter().filter(|e| closed(e, other));
        let except = of_self.chain(other.except.iter().filter(|e| closed(e, self))).cloned().collect();
        let both = |a: &BTreeSet<String>, b: &BTreeSet<String>| a.union(b).cloned().collect();
        Self {
            fs,
            except,
            http: self.http.join(&other.http),
            process: Programs { programs: both(&self.process.programs, &other.process.programs) },
            env: AllowList { allow: both(&self.env.allow, &other.env.allow) },
            secrets: AllowList { allow: both(&self.secrets.allow, &other.secrets.allow) },
            limits: self.limits.join(&other.limits),
        }
    }

    /// What either allows, with the limits that `said` names: a person who names a smaller one means it.
    #[must_use]
    pub fn amended(&self, said: &Self) -> Self {
        Self { limits: said.limits.or(&self.limits), ..self.join(said) }
    }

    /// What is left once `less` is taken away: to take away reading takes the folder away, to take away `rw` leaves it readable;
    /// a limit goes back to the usual one. Of a folder no part can be taken out.
    #[must_use]
    pub fn without(&self, less: &Self) -> Self {
        let left =
            |path: &String, mode: Mode| match less.fs.iter().filter(|(o, _)| holds(o, path)).map(|(_, m)| *m).min() {
                None => Some(mode),
                Some(Mode::ReadOnly) => None,
                Some(Mode::ReadWrite) => Some(Mode::ReadOnly),
            };
        let fs = self.fs.iter().filter_map(|(path, mode)| Some((path.clone(), left(path, *mode)?))).collect();
        Self {
            except: within_reach(self.except.iter(), &fs),
            fs,
            http: self.http.beyond(&less.http),
            process: Programs { programs: names_beyond(&self.process.programs, &less.process.programs) },
            env: AllowList { allow: names_beyond(&self.env.allow, &less.env.allow) },
            secrets: AllowList { allow: names_beyond(&self.secrets.allow, &less.secrets.allow) },
            limits: self.limits.without(&less.limits),
        }
    }

    /// Touches nothing; how long and how large it may run is another matter.
    #[must_use]
    pub fn touches_nothing(&self) -> bool {
        Self { limits: LimitsAsked::default(), ..self.clone() } == Self::default()
    }

    /// What a component that asked for `asked` and was given `given` comes to when it asks for `asks`. What the person took away
    /// stays taken away; what is asked for newly is added, once they agree.
    #[must_use]
    pub fn upgrade(given: &Self, asked: &Self, asks: &Self) -> Upgrade {
        let new = asks.beyond(asked);
        let mut grant = given.meet(asks).join(&new);
        grant.limits = new.limits.or(&given.limits);
        Upgrade { grant, new }
    }
}

/// Whether some entry covers a folder in this mode.
fn covered(path: &str, mode: Mode, by: &BTreeMap<String, Mode>) -> bool {
    by.iter().any(|(outer, held)| *held >= mode && holds(outer, path))
}

fn holds(outer: &str, path: &str) -> bool {
    inner_of(outer, path) == Some(path)
}

fn names_beyond(a: &BTreeSet<String>, b: &BTreeSet<String>) -> BTreeSet<String> {
    if b.contains("*") { BTreeSet::new() } else { a.difference(b).cloned().collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(fs: &[(&str, Mode)], programs: &[&str], memory: Option<u64>) -> Grant {
        Grant {
            fs: fs.iter().map(|(p, m)| ((*p).to_owned(), *m)).collect(),
            process: Programs { programs: programs.iter().map(|p| (*p).to_owned()).collect() },
            limits: LimitsAsked { memory, ..LimitsAsked::default() },
            ..Grant::default()
        }
    }

    const RO: Mode = Mode::ReadOnly;
    const RW: Mode = Mode::ReadWrite;

    #[test]
    fn the_difference_is_what_nobody_agreed_to() {
        for (new, old, beyond) in [
            (grant(&[("docs", RO)], &[], None), grant(&[(".", RW)], &[], None), Grant::default()),
            (grant(&[("docs", RW)], &[], None), grant(&[("docs", RO)], &[], None), grant(&[("docs", RW)], &[], None)),
            (grant(&[(".", RO)], &[], None), grant(&[("docs", RO)], &[], None), grant(&[(".", RO)], &[], None)),
            (grant(&[("docsx", RO)], &[], None), grant(&[("docs", RO)], &[], None), grant(&[("docsx", RO)], &[], None)),
            (grant(&[], &["git", "ls"], None), grant(&[], &["git"], None), grant(&[], &["ls"], None)),
            (grant(&[], &["git"], None), grant(&[], &["*"], None), Grant::default()),
            (grant(&[], &["*"], None), grant(&[], &["git"], None), grant(&[], &["*"], None)),
            (grant(&[], &[], Some(128 << 20)), Grant::default(), grant(&[], &[], Some(128 << 20))),
            (grant(&[], &[], Some(1 << 20)), Grant::default(), Grant::default()),
            (Grant::default(), grant(&[], &[], Some(1 << 20)), grant(&[], &[], Some(64 << 20))),
        ] {
            assert_eq!(new.beyond(&old), beyond, "{new:?} beyond {old:?}");
            assert_eq!(new.beyond(&new), Grant::default());
            assert_eq!(new.beyond(&new.join(&old)), Grant::default(), "a join holds both");
            assert_eq!(old.beyond(&new.join(&old)), Grant::default(), "a join holds both");
        }
    }

    /// A limit below the usual one is kept, and not taken for the lack of one.
    #[test]
    fn the_limit_that_is_named_holds() {
        for (held, said, want) in [
            (None, Some(16), Some(16)),
            (Some(32), Some(16), Some(16)),
            (Some(16), Some(32), Some(32)),
            (Some(16), None, Some(16)),
            (None, None, None),
        ] {
            let (held, said) = (grant(&[("docs", RO)], &[], held), grant(&[("src", RW)], &["git"], said));
            assert_eq!(held.amended(&said), grant(&[("docs", RO), ("src", RW)], &["git"], want));
        }
    }

    #[test]
    fn what_is_taken_away_is_gone() {
        for (held, less, left) in [
            (grant(&[("docs", RW)], &[], None), grant(&[("docs", RO)], &[], None), Grant::default()),
            (grant(&[("docs", RW)], &[], None), grant(&[("docs", RW)], &[], None), grant(&[("docs", RO)], &[], None)),
            (grant(&[("docs/a", RO)], &[], None), grant(&[(".", RO)], &[], None), Grant::default()),
            (grant(&[(".", RO)], &[], None), grant(&[("docs", RO)], &[], None), grant(&[(".", RO)], &[], None)),
            (grant(&[], &["git", "ls"], None), grant(&[], &["git"], None), grant(&[], &["ls"], None)),
            (grant(&[], &["git"], Some(5)), grant(&[], &["*"], Some(1)), Grant::default()),
        ] {
            assert_eq!(held.without(&less), left, "{held:?} without {less:?}");
        }
    }

    /// What the person took away is not given back by a new version that asks for the same.
    #[test]
    fn an_upgrade_keeps_what_was_narrowed() {
        let asked = grant(&[(".", RW)], &["git"], None);
        let given = grant(&[("docs", RO)], &[], None);
        let same = Grant::upgrade(&given, &asked, &asked);
        assert_eq!(same, Upgrade { grant: given.clone(), new: Grant::default() });
        let wider = grant(&[(".", RW)], &["git", "curl"], None);
        let upgrade = Grant::upgrade(&given, &asked, &wider);
        assert_eq!(upgrade.new, grant(&[], &["curl"], None));
        assert_eq!(upgrade.grant, grant(&[("docs", RO)], &["curl"], None));
        let narrower = Grant::upgrade(&asked, &asked, &given);
        assert_eq!(narrower, Upgrade { grant: given, new: Grant::default() });
    }
}
