//! Says that the step is whole as soon as anything has come.

kit::codec!(|_, _| vec![StreamEvent::StepFinish(StepFinish {
    reason: FinishReason::Stop,
    usage: None,
    metadata: None
})]);
