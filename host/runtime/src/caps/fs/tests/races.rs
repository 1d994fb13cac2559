//! Somebody swaps a link while the guest goes through it.

use super::*;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const FOR: Duration = Duration::from_secs(2);

/// Flips `ws/door` between folders until it is told to stop.
fn flip(world: &World, stop: &Arc<AtomicBool>, flips: &Arc<AtomicU64>) -> std::thread::JoinHandle<()> {
    let (ws, stop, flips) = (world.ws.clone(), Arc::clone(stop), Arc::clone(flips));
    std::thread::spawn(move || {
        for target in ["allowed", "denied", "../out", "allowed/../denied"].iter().cycle() {
            if stop.load(Ordering::Relaxed) {
                return;
            }
            std::os::unix::fs::symlink(target, ws.join("next")).unwrap();
            fs::rename(ws.join("next"), ws.join("door")).unwrap();
            flips.fetch_add(1, Ordering::Relaxed);
        }
    })
}

#[tokio::test]
async fn a_link_that_is_swapped_leaks_nothing() {
    let world = World::new();
    for (folder, text) in [("allowed", "fine"), ("denied", "denied"), ("../out", "outside")] {
        fs::create_dir_all(world.at(folder)).unwrap();
        fs::write(world.at(folder).join("x"), text).unwrap();
    }
    let (stop, flips) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let flipper = flip(&world, &stop, &flips);
    let rules = vec![("read denied", Action::Deny), ("write denied", Action::Deny)];
    let mut call = world.call_with(CallGrant::default(), Rules { rules, ..Rules::default() });
    let (begun, mut reads, mut writes) = (Instant::now(), 0, 0);
    while begun.elapsed() < FOR {
        if let Ok(text) = call.read("door/x").await {
            assert_eq!(text, "fine");
            reads += 1;
        }
        // The bound on changes a call would end this early.
        let mut writer =
            world.call_with(CallGrant::default(), Rules { rules: call.rules.rules.clone(), ..Rules::default() });
        writes += u32::from(writer.put("door/x", OpenFlags::empty(), "fine", 0).await.is_ok());
        writes += u32::from(writer.write("door/y", "fine").await.is_ok());
        writer.state.settle(true).await;
    }
    stop.store(true, Ordering::Relaxed);
    flipper.join().unwrap();
    assert!(reads > 50 && writes > 50 && flips.load(Ordering::Relaxed) > 1000, "{reads} {writes} {flips:?}");
    assert_eq!((world.text_of("denied/x"), world.text_of("../out/x")), ("denied".into(), "outside".into()));
    assert!(!world.at("denied/y").exists() && !world.at("../out/y").exists());
}
