// Counts the turns of the event loop during some work, to check that it yields without measuring time.

export async function countLoopTurns<T>(
  work: () => Promise<T>,
): Promise<{ readonly result: T; readonly turns: number }> {
  let turns = 0
  let isDone = false
  const tick = () => {
    turns += 1
    if (!isDone) setImmediate(tick)
  }
  setImmediate(tick)
  try {
    const result = await work()
    return { result, turns }
  } finally {
    isDone = true
  }
}
