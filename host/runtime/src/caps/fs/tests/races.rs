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
        writes += u32::from(call.put("door/x", OpenFlags::empty(), "fine", 0).await.is_ok());
        writes += u32::from(call.write("door/y", "fine").await.is_ok());
    }
    stop.store(true, Ordering::Relaxed);
    flipper.join().unwrap();
    call.state.settle(true).await;
    let flips = flips.load(Ordering::Relaxed);
    assert!(reads > 0 && writes > 0 && flips > 100, "{reads} reads, {writes} writes, {flips} flips");
    assert_eq!((world.text_of("denied/x"), world.text_of("../out/x")), ("denied".into(), "outside".into()));
    assert!(!world.at("denied/y").exists() && !world.at("../out/y").exists());
}
