// A thread of the chain process that ends the process when the server is gone, even while a call hangs.
import { workerData } from 'node:worker_threads'
import { systemClock } from '#runtime/clock.ts'

const periodMs = 1000
for (;;) {
  await systemClock.sleep(periodMs)
  if (process.ppid !== workerData) process.kill(process.pid, 'SIGKILL')
}
