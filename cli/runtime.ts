// Clock, random numbers and log of the commands. Warnings go to standard error.
import { systemClock } from '#runtime/clock.ts'
import { openLog } from '#runtime/log.ts'
import { systemRandom } from '#runtime/random.ts'

export const clock = systemClock
export const random = systemRandom
export const log = openLog('warn', (line) => process.stderr.write(line))
