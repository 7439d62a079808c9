// The version of the library that computes states, for messages. It is not loaded.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

const name = '@lodestar/state-transition'

export function libraryVersion(): string {
  const folders = createRequire(import.meta.url).resolve.paths(name) ?? []
  for (const folder of folders) {
    try {
      return String(JSON.parse(readFileSync(join(folder, name, 'package.json'), 'utf8')).version)
    } catch {
      // Not in this folder.
    }
  }
  return 'of an unknown version'
}
