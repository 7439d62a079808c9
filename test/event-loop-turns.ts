// How often everybody else had their turn while some work went on: what gives up the thread, counted instead of timed.

export async function countLoopTurns<T>(
  work: () => Promise<T>,
): Promise<{ readonly result: T; readonly turns: number }> {
  let turns = 0
  let over = false
  const tick = () => {
    turns += 1
    if (!over) setImmediate(tick)
  }
  setImmediate(tick)
  try {
    const result = await work()
    return { result, turns }
  } finally {
    over = true
  }
}
