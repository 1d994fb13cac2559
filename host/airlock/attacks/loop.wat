(component
  (core module $code
    (@custom "airlock:manifest" "{\"limits\":{\"cpu_ms\":300,\"wall_ms\":3000}}")
    (func (export "f") (loop $l (br $l))))
  (core instance $c (instantiate $code))
  (func (export "loop") (canon lift (core func $c "f"))))
