//! Programs that outlive their calls: looked at, stopped, bounded, and gone with their session's run.

use super::*;
use crate::caps::process::yard::Yard;
use model::background::{Background, End, Glance};
use model::id::SessionId;

struct Left {
    place: Place,
    yard: Yard,
    session: SessionId,
}

impl Left {
    fn new(walls: Walls) -> Self {
        Self { place: Place::new(walls), yard: Yard::default(), session: SessionId::new() }
    }

    fn leave(&self, line: &str) -> Result<String, String> {
        self.leave_for(Duration::from_secs(20), line)
    }

    fn leave_for(&self, timeout: Duration, line: &str) -> Result<String, String> {
        let command = Command { timeout: Some(timeout), keep_over: Some(1000), ..self.place.line(line) };
        self.yard.leave(&self.session, line, self.place.start(command).unwrap())
    }

    async fn look(&self, id: &str, wait_ms: u64) -> Glance {
        self.yard.look(&self.session, id, Duration::from_millis(wait_ms)).await.unwrap()
    }

    /// Looks until something was printed.
    async fn printed(&self, id: &str) -> Glance {
        loop {
            let glance = self.look(id, 20).await;
            if !glance.output.is_empty() || glance.end.is_some() {
                return glance;
            }
        }
    }
}

#[tokio::test]
async fn what_it_prints_is_seen_once_and_it_can_be_stopped() {
    for walls in levels() {
        let left = Left::new(walls);
        let id = left.leave("echo up; setsid sleep 8101 & exec sleep 8101").unwrap();
        let glance = left.printed(&id).await;
        assert_eq!((&*glance.output, glance.end, glance.dropped), (&b"up\n"[..], None, 0));
        let glance = left.look(&id, 0).await;
        assert_eq!((&*glance.output, glance.end), (&b""[..], None));
        assert!(left.yard.is_busy());
        let glance = left.yard.stop(&left.session, &id).await.unwrap();
        assert_eq!(glance.end, Some(End::Stopped));
        assert_eq!(running("sleep 8101"), [""; 0]);
        assert!(!left.yard.is_busy() && left.yard.ended(&left.session).is_empty(), "who stopped it knows of its end");
    }
}

#[tokio::test]
async fn an_end_is_given_once() {
    for walls in levels() {
        let left = Left::new(walls);
        let id = left.leave("echo last; exit 3").unwrap();
        let ended = loop {
            let ended = left.yard.ended(&left.session);
            if !ended.is_empty() {
                break ended;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        };
        assert_eq!((&ended[0].id, &ended[0].end, &*ended[0].line), (&id, &End::Code(3), "echo last; exit 3"));
        assert!(left.yard.ended(&left.session).is_empty());
        assert_eq!(left.look(&id, 0).await.output, b"last\n", "what it printed can still be read");
        let seen = left.leave("exit 4").unwrap();
        assert_eq!(left.look(&seen, 10_000).await.end, Some(End::Code(4)));
        assert!(left.yard.ended(&left.session).is_empty(), "who looked knows");
    }
}

#[tokio::test]
async fn all_end_with_the_run_and_none_belongs_to_another() {
    for walls in levels() {
        let left = Left::new(walls);
        let id = left.leave("setsid sleep 8102 & exec sleep 8102").unwrap();
        let other = SessionId::new();
        assert_eq!(left.yard.look(&other, &id, Duration::ZERO).await, None);
        assert_eq!(left.yard.stop(&other, &id).await, None);
        assert!(left.yard.list(&other).is_empty());
        left.yard.close(&other).await;
        assert_eq!(left.yard.list(&left.session).len(), 1);
        left.yard.close(&left.session).await;
        assert_eq!(running("sleep 8102"), [""; 0]);
        assert!(left.yard.list(&left.session).is_empty() && !left.yard.is_busy());
    }
}

#[tokio::test]
async fn a_flood_is_bounded_and_ended() {
    let left = Left::new(level::walls());
    let id = left.leave("yes").unwrap();
    let glance = left.look(&id, 20_000).await;
    assert_eq!(glance.end, Some(End::Flooded));
    assert!(
        glance.output.len() <= 48 * 1024 && glance.dropped > 60 << 20,
        "{} {}",
        glance.output.len(),
        glance.dropped
    );
    let kept = std::fs::metadata(glance.kept.unwrap()).unwrap().len();
    assert!(kept > 60 << 20 && kept < 80 << 20, "{kept}");
}

#[tokio::test]
async fn time_and_number_are_bounded() {
    let left = Left::new(level::walls());
    let id = left.leave_for(Duration::from_millis(200), "exec sleep 8103").unwrap();
    assert_eq!(left.look(&id, 10_000).await.end, Some(End::TimedOut));
    for _ in 0..8 {
        left.leave("exec sleep 8104").unwrap();
    }
    let why = left.leave("exec sleep 8105").unwrap_err();
    assert!(why.contains("at most 8"), "{why}");
    assert_eq!(running("sleep 8105"), [""; 0], "what is not taken is ended");
    left.yard.close(&left.session).await;
    assert_eq!(running("sleep 8104"), [""; 0]);
}

/// Whoever holds them goes without a word: a host that is torn down.
#[tokio::test]
async fn nothing_outlives_the_tasks_that_hold_them() {
    let held = std::thread::spawn(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let left = Left::new(level::walls());
            left.leave("exec sleep 8106").unwrap();
            assert_eq!(running("sleep 8106").len(), 1);
        });
    });
    held.join().unwrap();
    assert_eq!(running("sleep 8106"), [""; 0]);
}
