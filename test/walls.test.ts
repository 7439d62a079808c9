// The walls of the house: imports go one way, each foreign package has one door, the world is touched in one room.
// `import type` counts; a comment does not.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { dirname, join, normalize, sep } from 'node:path'
import { test } from 'node:test'

const root = normalize(join(import.meta.dirname, '..'))
const files = globSync('{api,server,cli,conform,console,sim,docs,bench}/**/*.{ts,tsx}', {
  cwd: root,
  exclude: ['api/dist/**', 'console/dist/**'],
}).filter((file) => !file.endsWith('.test.ts') && !file.endsWith('.suite.ts'))

/** Room of a file, by the longest matching prefix. */
const rooms: readonly [prefix: string, room: string][] = [
  ['api/', 'api'],
  ['server/core/', 'core'],
  ['server/io/', 'io'],
  ['server/store/', 'store'],
  ['server/ingest/', 'ingest'],
  ['server/serve/', 'serve'],
  ['server/groups/explorer/', 'explorer'],
  ['server/groups/fx/', 'fx'],
  ['server/groups/validators/', 'validators'],
  ['server/groups/markets/', 'markets'],
  ['server/upkeep/', 'upkeep'],
  ['server/console/', 'console'],
  ['server/context.ts', 'context'],
  ['server/endpoints.ts', 'endpoints'],
  ['server/extensions.ts', 'endpoints'],
  ['server/main.ts', 'main'],
  ['cli/', 'cli'],
  ['conform/', 'conform'],
  ['console/', 'browser'],
  ['sim/', 'sim'],
  ['docs/', 'docs'],
  ['bench/', 'bench'],
  ['test/', 'test'],
]

const base = ['core', 'api'] as const
const below = ['store', 'io', ...base] as const
const group = ['ingest', 'serve', ...below] as const
const groups = ['explorer', 'fx', 'validators', 'markets'] as const
const server = ['main', 'context', 'endpoints', 'upkeep', 'console', ...groups, ...group] as const

/** What each room may look at, besides itself. */
const mayLookAt: Record<string, readonly string[]> = {
  api: [],
  core: ['api'],
  io: base,
  store: ['io', ...base],
  ingest: below,
  serve: below,
  explorer: group,
  fx: group,
  validators: group,
  markets: group,
  context: [...groups, ...group],
  endpoints: ['context', ...groups, ...group],
  upkeep: ['context', ...groups, ...group],
  console: ['context', 'upkeep', ...groups, ...group],
  main: ['context', 'endpoints', 'upkeep', 'console', ...groups, ...group],
  sim: ['context', ...groups, ...group],
  docs: ['io', ...base],
  conform: ['api'],
  browser: ['api'],
  cli: ['conform', 'sim', 'docs', ...server],
  // Of tests only what starts the servers of other makers.
  bench: ['sim', 'cli', 'test', ...server],
}

/** Foreign package → the files it may be named in. */
const doors: Record<string, readonly string[]> = {
  typebox: ['api/kit.ts'],
  '@noble/hashes/sha3.js': ['server/core/checksum-address.ts', 'server/groups/fx/'],
  '@noble/hashes/utils.js': ['server/groups/fx/hash-typed-data.ts'],
  '@noble/curves/secp256k1.js': ['server/groups/fx/recover-address.ts'],
  ajv: ['server/core/check.ts'],
  pino: ['server/io/log.ts'],
  yaml: ['server/io/'],
  'prom-client': ['server/io/metrics.ts'],
  'node:sqlite': ['server/store/engines/', 'server/store/folder-lock.ts'],
  ioredis: ['server/io/redis.ts'],
  pg: ['server/store/engines/'],
  fastify: ['server/serve/http.ts', 'server/serve/arrival.ts'],
  'fast-json-stringify': ['server/serve/render.ts'],
  commander: ['cli/'],
  react: ['console/'],
  'react-dom/client': ['console/main.tsx'],
  '@tanstack/react-query': ['console/'],
  uplot: ['console/parts/plot.tsx'],
  'uplot/dist/uPlot.min.css': ['console/parts/plot.tsx'],
  vite: ['console/vite.config.ts'],
  '@vitejs/plugin-react': ['console/vite.config.ts'],
}

const roomOf = (file: string): string => {
  const found = rooms.find(([prefix]) => file.startsWith(prefix))
  assert.ok(found, `${file} is in no room: give it one in test/walls.test.ts`)
  return found[1]
}

const imports = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).imports as Record<string, string>

/** Project-relative path of an import, or the bare package name. */
function resolve(from: string, specifier: string): { file: string } | { foreign: string } {
  if (specifier.startsWith('.'))
    return {
      file: normalize(join(dirname(from), specifier))
        .split(sep)
        .join('/'),
    }
  if (specifier.startsWith('#')) {
    const door = specifier.slice(0, specifier.indexOf('/'))
    const target = imports[`${door}/*`]
    assert.ok(target, `${from} imports ${specifier}: no such door in package.json`)
    return { file: normalize(target.replace('*', specifier.slice(door.length + 1))) }
  }
  return { foreign: specifier }
}

function specifiersOf(text: string): string[] {
  const code = text.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/^\s*\/\/.*$/gm, '')
  const found = code.matchAll(
    /(?:^|\n)\s*(?:import|export)\b[^'"\n;]*?(?:\{[^}]*\}[^'"\n]*?)?from\s*['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)|^\s*import\s+['"]([^'"]+)['"]/gm,
  )
  return [...found].map((match) => match[1] ?? match[2] ?? match[3] ?? '')
}

const sources = files.map((file) => ({ file, text: readFileSync(join(root, file), 'utf8') }))

test('the walk sees the imports', () => {
  const seen = sources.flatMap(({ text }) => specifiersOf(text))
  assert.ok(files.length > 20 && seen.length > files.length, `${seen.length} imports in ${files.length} files`)
  assert.deepEqual(
    specifiersOf(
      "import {\n  a,\n  b,\n} from './x.ts'\nexport { c } from '#io/y.ts'\nimport 'z'\nawait import('w')\n",
    ),
    ['./x.ts', '#io/y.ts', 'z', 'w'],
  )
})

test('rule 1: a file looks down, never up or sideways', () => {
  const trespasses: string[] = []
  for (const { file, text } of sources) {
    const room = roomOf(file)
    for (const specifier of specifiersOf(text)) {
      const target = resolve(file, specifier)
      if ('foreign' in target) continue
      const there = target.file.endsWith('package.json') ? room : roomOf(target.file)
      if (there !== room && !mayLookAt[room]?.includes(there)) trespasses.push(`${file} → ${specifier}`)
    }
  }
  assert.deepEqual(trespasses, [])
})

test('rule 4: each foreign package has one door', () => {
  const trespasses: string[] = []
  const known = new Set(builtinModules.flatMap((name) => [name, `node:${name}`]))
  for (const { file, text } of sources) {
    if (/^(docs|bench)\//.test(file)) continue
    for (const specifier of specifiersOf(text)) {
      const target = resolve(file, specifier)
      if (!('foreign' in target)) continue
      const allowed = doors[target.foreign]
      if (allowed ? !allowed.some((door) => file.startsWith(door)) : !known.has(target.foreign)) {
        trespasses.push(`${file} → ${specifier}`)
      }
    }
  }
  assert.deepEqual(trespasses, [])
})

test('rule 4: time, chance, the environment and outgoing calls enter through io only', () => {
  const world =
    /\b(Date\.now\(|Math\.random\(|setTimeout\(|setInterval\(|process\.env\b|performance\.now\(|(?<![.\w])fetch\()|new Date\(\)/
  const trespasses = sources
    .filter(({ file }) => file.startsWith('server/') && !file.startsWith('server/io/'))
    .flatMap(({ file, text }) =>
      text
        .split('\n')
        .map((line, at) => ({ line: line.replace(/\/\/.*$|^\s*\*.*$/, ''), at: at + 1 }))
        .filter(({ line }) => world.test(line))
        .map(({ at }) => `${file}:${at}`),
    )
  assert.deepEqual(trespasses, [])
})

test('rule 8: no barrels, default exports, utils, helpers or managers', () => {
  const bad = sources
    .filter(
      ({ file, text }) =>
        /(^|\/)(index|utils?|helpers?|managers?)\.ts$/.test(file) ||
        // The build tool takes its configuration no other way.
        (/^export default/m.test(text) && file !== 'console/vite.config.ts'),
    )
    .map(({ file }) => file)
  assert.deepEqual(bad, [])
})

test('rule 9: every file says in its first line why it exists', () => {
  const silent = sources.filter(({ text }) => !/^(#!.*\n)?\/\//.test(text)).map(({ file }) => file)
  assert.deepEqual(silent, [])
})
