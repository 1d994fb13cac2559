//! What a family of sessions spends. One book for all of them, so that no two children both have the last of it.

use model::budget::{Limits, Tokens, Used};
use rust_decimal::Decimal;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a session and all that came of it have used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spending {
    pub steps: u32,
    pub cost: Decimal,
    pub tokens: Tokens,
    /// Bytes that the models wrote.
    pub output_bytes: u64,
    /// What requests came to whose provider counted nothing, by their size.
    pub uncounted: Tokens,
}

impl Spending {
    fn all_tokens(&self) -> u64 {
        self.tokens.total().saturating_add(self.uncounted.total())
    }

    fn output_tokens(&self) -> u64 {
        [self.tokens, self.uncounted].iter().map(|t| t.output.saturating_add(t.reasoning)).sum()
    }
}

struct Account {
    above: Option<usize>,
    limits: Limits,
    spent: Spending,
}

/// The account of one session. It pays from those above as well.
#[derive(Clone)]
pub(crate) struct Purse {
    book: Arc<Mutex<Vec<Account>>>,
    account: usize,
}

impl Purse {
    pub(crate) fn new(limits: Limits) -> Self {
        let account = Account { above: None, limits, spent: Spending::default() };
        Self { book: Arc::new(Mutex::new(vec![account])), account: 0 }
    }

    /// An account without a limit of its own: what is left above bounds it.
    pub(crate) fn child(&self) -> Self {
        let mut book = self.book();
        book.push(Account { above: Some(self.account), limits: Limits::default(), spent: Spending::default() });
        Self { book: self.book.clone(), account: book.len() - 1 }
    }

    fn book(&self) -> MutexGuard<'_, Vec<Account>> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From this account up, with how many requests each has to keep for those between: a parent must be able to say what its
    /// children found.
    fn chain(&self, book: &[Account]) -> Vec<(usize, u32)> {
        let mut chain = vec![];
        let mut at = Some(self.account);
        while let Some(i) = at {
            chain.push((i, u32::try_from(chain.len()).unwrap_or(u32::MAX)));
            at = book[i].above;
        }
        chain
    }

    /// The limits of this session in its own terms: what it has used, and what is left for it in each account.
    pub(crate) fn bounds(&self, own: &Used) -> Limits {
        let book = self.book();
        let mut bounds = Limits { wall: book[self.account].limits.wall, ..Limits::default() };
        for (i, kept) in self.chain(&book) {
            let Account { limits, spent, .. } = &book[i];
            let steps = limits.steps.map(|n| own.steps + n.saturating_sub(spent.steps).saturating_sub(kept));
            bounds.steps = bounds.steps.into_iter().chain(steps).min();
            let cost = limits.cost_usd.map(|c| own.cost_usd + (c - spent.cost).max(Decimal::ZERO));
            bounds.cost_usd = bounds.cost_usd.into_iter().chain(cost).min();
            narrow(&mut bounds.tokens, limits.tokens, own.tokens, spent.all_tokens());
            narrow(&mut bounds.output_tokens, limits.output_tokens, own.output_tokens, spent.output_tokens());
            narrow(&mut bounds.output_bytes, limits.output_bytes, own.output_bytes, spent.output_bytes);
        }
        bounds
    }

    /// Counts a request that is about to be sent. False, and nothing counted, where an account has none left.
    pub(crate) fn step(&self) -> bool {
        let mut book = self.book();
        let chain = self.chain(&book);
        let has = |(i, kept): &(usize, u32)| {
            book[*i].limits.steps.is_none_or(|n| book[*i].spent.steps.saturating_add(*kept) < n)
        };
        let all = chain.iter().all(has);
        if all {
            chain.iter().for_each(|(i, _)| book[*i].spent.steps += 1);
        }
        all
    }

    pub(crate) fn pay(&self, cost: Decimal, tokens: Tokens) {
        let mut book = self.book();
        for (i, _) in self.chain(&book) {
            book[i].spent.cost += cost;
            book[i].spent.tokens += tokens;
        }
    }

    /// Bytes that a model wrote.
    pub(crate) fn wrote(&self, bytes: u64) {
        self.each(|spent| spent.output_bytes = spent.output_bytes.saturating_add(bytes));
    }

    /// What a request came to that nobody counted.
    pub(crate) fn guess(&self, tokens: Tokens) {
        self.each(|spent| spent.uncounted += tokens);
    }

    fn each(&self, change: impl Fn(&mut Spending)) {
        let mut book = self.book();
        for (i, _) in self.chain(&book) {
            change(&mut book[i].spent);
        }
    }

    pub(crate) fn spent(&self) -> Spending {
        self.book()[self.account].spent
    }
}

/// What an account has left, beside what the session itself has used.
fn narrow(bound: &mut Option<u64>, limit: Option<u64>, own: u64, spent: u64) {
    let left = limit.map(|n| own.saturating_add(n.saturating_sub(spent)));
    *bound = bound.iter().copied().chain(left).min();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(steps: u32, cost: i64) -> Limits {
        Limits { steps: Some(steps), cost_usd: Some(Decimal::from(cost)), ..Limits::default() }
    }

    fn left(purse: &Purse) -> (u32, Decimal) {
        let bounds = purse.bounds(&Used::default());
        (bounds.steps.unwrap(), bounds.cost_usd.unwrap())
    }

    #[test]
    fn a_child_has_what_its_parent_has_left_but_for_the_last_step() {
        let parent = Purse::new(limits(4, 10));
        assert!(parent.step());
        parent.pay(Decimal::from(3), Tokens::default());
        let (a, b) = (parent.child(), parent.child());
        assert_eq!((left(&a), left(&b)), ((2, 7.into()), (2, 7.into())));
        assert!(a.step());
        a.pay(Decimal::from(6), Tokens { input: 5, ..Tokens::default() });
        assert_eq!(left(&b), (1, 1.into()), "what one took, the other has not");
        assert!(b.step() && !a.step() && !b.step(), "the last one is the parent's");
        assert!(parent.step() && !parent.step());
        let spent = parent.spent();
        assert_eq!((spent.steps, spent.cost, spent.tokens.input), (4, 9.into(), 5));
        assert_eq!(a.spent().steps, 1);
    }

    #[test]
    fn bounds_are_in_the_sessions_own_terms() {
        let parent = Purse::new(limits(10, 1));
        let child = parent.child();
        let own = Used { steps: 3, cost_usd: Decimal::ZERO, ..Used::default() };
        assert_eq!(child.bounds(&own).steps, Some(12), "3 used and 9 to come");
        assert_eq!(Purse::new(Limits::default()).child().bounds(&own), Limits::default());
    }

    #[test]
    fn tokens_and_output_are_paid_by_all_above() {
        let parent = Purse::new(Limits {
            tokens: Some(100),
            output_tokens: Some(10),
            output_bytes: Some(50),
            ..Limits::default()
        });
        let child = parent.child();
        child.pay(Decimal::ZERO, Tokens { input: 60, output: 4, ..Tokens::default() });
        child.guess(Tokens { input: 6, output: 1, ..Tokens::default() });
        child.wrote(20);
        let own = Used { tokens: 71, output_tokens: 5, output_bytes: 20, ..Used::default() };
        let bounds = child.bounds(&own);
        assert_eq!((bounds.tokens, bounds.output_tokens, bounds.output_bytes), (Some(100), Some(10), Some(50)));
        let bounds = parent.bounds(&Used::default());
        assert_eq!((bounds.tokens, bounds.output_tokens, bounds.output_bytes), (Some(29), Some(5), Some(30)));
    }

    #[test]
    fn each_generation_keeps_a_step() {
        let root = Purse::new(limits(5, 1));
        let grandchild = root.child().child();
        assert_eq!(left(&grandchild).0, 3);
    }
}
