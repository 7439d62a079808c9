import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import manifest from '../package.json' with { type: 'json' }
import { type LockFile, shrinkwrapOf } from './build.ts'

test('the shrinkwrap has the locked version of every package that users install, and no others', async () => {
  const text = await readFile(new URL('../package-lock.json', import.meta.url), 'utf8')
  const lock = JSON.parse(text) as LockFile
  const { packages } = shrinkwrapOf(lock)
  const needed = Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies })
  const seen = new Set<string>()
  // Each dependency is found as Node finds it, from the folder of the package that needs it.
  for (const [name, from] of needed.map((each) => [each, ''] as const)) visit(name, from)
  function visit(name: string, from: string): void {
    let folder = from
    while (!(`${folder}node_modules/${name}` in packages) && folder !== '')
      folder = folder.slice(0, folder.lastIndexOf('node_modules/', folder.length - 2))
    const path = `${folder}node_modules/${name}`
    assert.ok(packages[path], `${name}, needed by ${from || 'tetrad'}`)
    assert.equal(packages[path].version, lock.packages[path]?.version)
    if (seen.has(path)) return
    seen.add(path)
    for (const next of Object.keys(packages[path].dependencies ?? {})) visit(next, `${path}/`)
  }
  assert.ok(seen.size > needed.length)
  assert.ok(!('node_modules/@biomejs/biome' in packages), 'no development packages')
  assert.doesNotMatch(JSON.stringify(packages), /"resolved"|https?:[^"]*\.tgz/)
})
