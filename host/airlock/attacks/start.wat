(component
  (core module $code
    (@custom "airlock:manifest" "{\"limits\":{\"cpu_ms\":300,\"wall_ms\":3000}}")
    (func $s (loop $l (br $l)))
    (start $s)
    (func (export "f")))
  (core instance $c (instantiate $code))
  (func (export "start") (canon lift (core func $c "f"))))
