// The thread that reads the history of markets (markets/history/history-query.ts), with its own connection.
import { serveThread, threadStart } from '#runtime/worker-thread.ts'
import { openIngest } from '#storage/open.ts'
import { type HistoryThreadStart, historyHandlers } from './history-handlers.ts'

const { dir, options, settings } = threadStart<HistoryThreadStart>()
serveThread(historyHandlers(openIngest(dir, options), settings))
