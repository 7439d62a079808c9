// Warns before the server runs out of descriptors. The operating system then drops connections, and Node does not report
// it (behaviour/http.md#request-size-and-time).
import { failureFields } from '#runtime/failure-fields.ts'
import type { ReadOpenFiles } from '#runtime/open-files.ts'
import type { App } from './pipeline.ts'
import { warnHourly } from './read-request.ts'

const periodMs = 10_000
/** Databases and sources need descriptors too. */
const shareMax = 0.9

/** Returns a function that stops watching. */
export function watchOpenFiles(app: App, read: ReadOpenFiles | undefined): () => void {
  if (!read) return () => {}
  return app.context.clock.every(periodMs, () => {
    read().then(
      ({ open, max }) => {
        if (open >= shareMax * max)
          warnHourly(
            app,
            `the server runs out of file descriptors: ${open} of ${max} are open, and connections are dropped without them. Raise the limit of open files (LimitNOFILE, ulimit -n), or lower server.connectionsMax`,
          )
      },
      (error: unknown) => app.context.log.debug(failureFields(error), 'open files cannot be counted'),
    )
  })
}
