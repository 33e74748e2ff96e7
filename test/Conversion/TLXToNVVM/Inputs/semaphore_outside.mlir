tlx.kernel @outside(%turns: !tlx.ptr<i32>, %i: i32) {
  tlx.semaphore_post %turns[%i] : !tlx.ptr<i32>, i32
  tlx.async_tasks {
    tlx.async_task @one warps(1) {
    }
  }
}
