// A small disk for tests of full disks, if the system allows it.
import { spawnSync } from 'node:child_process'

/** Prefix for a command that gets a small disk at `dir`, invisible to other processes. */
export const tinyDisk = (dir: string, mebibytes = 6): string[] => [
  'unshare',
  '--map-root-user',
  '--mount',
  'sh',
  '-c',
  `mount -t tmpfs -o size=${mebibytes}m none "$0" && exec "$@"`,
  dir,
]

/** For `skip`: why there is no such disk, or false. */
export const noTinyDisk = ((): string | false => {
  const [command = '', ...args] = tinyDisk('/tmp')
  return spawnSync(command, [...args, 'true']).status === 0 ? false : 'mounting a disk is not permitted here'
})()
