// A disk of a few mebibytes of one's own, where the system lets a test have one: to see what happens when it is full.
import { spawnSync } from 'node:child_process'

/** Goes before a command: it then sees, and nobody else does, a small disk at `dir`. */
export const tinyDisk = (dir: string, mebibytes = 6): string[] => [
  'unshare',
  '--map-root-user',
  '--mount',
  'sh',
  '-c',
  `mount -t tmpfs -o size=${mebibytes}m none "$0" && exec "$@"`,
  dir,
]

/** Why a test that needs one is skipped; false: it need not be. */
export const noTinyDisk = ((): string | false => {
  const [command = '', ...args] = tinyDisk('/tmp')
  return spawnSync(command, [...args, 'true']).status === 0 ? false : 'no right to mount a disk here'
})()
