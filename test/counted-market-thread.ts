// A thread that reads markets and counts its units of work in shared memory. At a certain unit it stops until
// the test has aborted the call.

import { serveThread, threadStart } from '#runtime/worker-thread.ts'
import { type MarketThreadStart, marketHandlers } from '#server/background/market-handlers.ts'
import { openIngest } from '#storage/open.ts'
import { UnitCounter } from './count-units.ts'

export interface CountedThreadStart extends MarketThreadStart {
  /** The number of units; 1 as soon as the test has aborted. */
  readonly shared: Int32Array
  readonly stopAt: number
}

const { dir, options, settings, shared, stopAt } = threadStart<CountedThreadStart>()
const units = new UnitCounter()
units.onUnit = (count) => {
  Atomics.store(shared, 0, count)
  Atomics.notify(shared, 0)
  if (count === stopAt) Atomics.wait(shared, 1, 0)
}
const opening = openIngest(dir, options).then((ingest) => units.state(ingest))
serveThread(marketHandlers(opening, settings))
