;; Reckons with years: a component written by hand.
(component
  (core module $code
    (func (export "leap") (param $y i32) (result i32)
      (i32.or
        (i32.eqz (i32.rem_u (local.get $y) (i32.const 400)))
        (i32.and
          (i32.eqz (i32.rem_u (local.get $y) (i32.const 4)))
          (i32.ne (i32.rem_u (local.get $y) (i32.const 100)) (i32.const 0)))))
    ;; Days from the beginning of year 1 to that of year $y, $y > 0.
    (func (export "days") (param $y i32) (result i64)
      (local $n i64)
      (local.set $n (i64.extend_i32_u (i32.sub (local.get $y) (i32.const 1))))
      (i64.add
        (i64.sub
          (i64.add (i64.mul (local.get $n) (i64.const 365)) (i64.div_u (local.get $n) (i64.const 4)))
          (i64.div_u (local.get $n) (i64.const 100)))
        (i64.div_u (local.get $n) (i64.const 400)))))
  (core instance $c (instantiate $code))
  (func $leap (param "year" u16) (result bool) (canon lift (core func $c "leap")))
  (func $days (param "year" u16) (result u64) (canon lift (core func $c "days")))
  (instance $years (export "is-leap" (func $leap)) (export "days-before" (func $days)))
  (export "local:dates/years@0.1.0" (instance $years)))
