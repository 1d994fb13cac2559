(component
  (import "wasi:io/poll@0.2.0" (instance $poll
    (export "pollable" (type $p (sub resource)))
    (export "[method]pollable.block" (func (param "self" (borrow $p))))))
  (alias export $poll "pollable" (type $pollable))
  (import "wasi:clocks/monotonic-clock@0.2.0" (instance $clock
    (alias outer 1 $pollable (type $q))
    (export "pollable" (type $p (eq $q)))
    (export "subscribe-duration" (func (param "when" u64) (result (own $p))))))
  (core func $after (canon lower (func $clock "subscribe-duration")))
  (core func $block (canon lower (func $poll "[method]pollable.block")))
  (core instance $host (export "after" (func $after)) (export "block" (func $block)))
  (core module $code
    (@custom "airlock:manifest" "{\"limits\":{\"cpu_ms\":500,\"wall_ms\":1000}}")
    (import "host" "after" (func $after (param i64) (result i32)))
    (import "host" "block" (func $block (param i32)))
    (func (export "f") (loop $l (drop (call $after (i64.const 0))) (br $l))))
  (core instance $c (instantiate $code (with "host" (instance $host))))
  (func (export "handles") (canon lift (core func $c "f"))))
