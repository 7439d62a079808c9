// The thread that reads the history of markets (markets/threads/thread-query.ts), with its own connection.
import { serveThread, threadStart } from '#runtime/worker-thread.ts'
import { openIngest } from '#storage/open.ts'
import { type MarketThreadStart, marketHandlers } from './market-handlers.ts'

const { dir, options, settings } = threadStart<MarketThreadStart>()
serveThread(marketHandlers(openIngest(dir, options), settings))
