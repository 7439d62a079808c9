// Checks the structure of the source: which folder may import which, where each package may be used, where time,
// randomness, the environment and the network may be accessed. Type imports count; comments do not.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { basename, dirname, join, normalize, relative, sep } from 'node:path'
import { test } from 'node:test'

const root = normalize(join(import.meta.dirname, '..'))
const files = globSync('{api,shared,server,cli,conformance,console,simulator,docs,bench}/**/*.{ts,tsx}', {
  cwd: root,
  exclude: ['api/dist/**', 'console/dist/**'],
}).filter((file) => !file.endsWith('.test.ts'))

/** The layer of a file, by the first prefix that matches. */
const layers: readonly [prefix: string, layer: string][] = [
  ['api/contract/', 'contract'],
  ['api/client/', 'client'],
  ['api/', 'api build'],
  ['shared/', 'shared'],
  ['server/core/', 'core'],
  ['server/runtime/', 'runtime'],
  ['server/sources/', 'sources'],
  ['server/storage/', 'storage'],
  ['server/ingest/', 'ingest'],
  ['server/webhooks/', 'webhooks'],
  ['server/http/', 'http'],
  ['server/explorer/', 'explorer'],
  ['server/fx/', 'fx'],
  ['server/validators/', 'validators'],
  ['server/markets/', 'markets'],
  ['server/operations/', 'operations'],
  ['server/admin/', 'admin'],
  ['server/background/', 'background'],
  ['server/endpoints.ts', 'endpoints'],
  ['server/extensions.ts', 'endpoints'],
  ['server/context.ts', 'context'],
  ['server/app.ts', 'app'],
  ['server/start/', 'app'],
  ['cli/', 'cli'],
  ['conformance/', 'conformance'],
  ['console/vite.config.ts', 'console build'],
  ['console/shared/', 'console shared'],
  ['console/', 'console'],
  ['simulator/', 'simulator'],
  ['docs/', 'docs'],
  ['bench/', 'bench'],
  ['test/', 'test'],
]

const api = ['client', 'contract'] as const
const base = ['core', 'shared', ...api] as const
const belowGroups = ['webhooks', 'ingest', 'http', 'storage', 'sources', 'runtime', ...base] as const
const groups = ['explorer', 'fx', 'validators', 'markets'] as const
const server = ['app', 'background', 'endpoints', 'context', 'operations', 'admin', ...groups, ...belowGroups] as const

/** What each layer may import, besides itself. */
const allowedImports: Record<string, readonly string[]> = {
  contract: [],
  client: ['contract'],
  'api build': ['client', 'contract'],
  shared: api,
  core: ['shared', ...api],
  runtime: base,
  sources: ['runtime', ...base],
  storage: ['sources', 'runtime', ...base],
  ingest: ['storage', 'sources', 'runtime', ...base],
  webhooks: ['ingest', 'storage', 'sources', 'runtime', ...base],
  http: ['storage', 'sources', 'runtime', ...base],
  explorer: belowGroups,
  fx: belowGroups,
  validators: belowGroups,
  markets: belowGroups,
  context: [...groups, ...belowGroups],
  endpoints: ['context', ...groups, ...belowGroups],
  operations: ['context', ...groups, ...belowGroups],
  admin: ['operations', 'context', ...groups, ...belowGroups],
  background: ['operations', 'context', ...groups, ...belowGroups],
  app: ['background', 'endpoints', 'operations', 'admin', 'context', ...groups, ...belowGroups],
  simulator: ['context', ...groups, ...belowGroups],
  docs: ['cli', 'console shared', 'runtime', ...base],
  conformance: api,
  'console shared': ['shared', ...api],
  console: ['console shared', 'shared', ...api],
  'console build': ['docs'],
  cli: ['conformance', 'simulator', ...server],
  bench: ['simulator', 'cli', 'test', ...server],
}

/** Package → the files that may import it. */
const packageUsers: Record<string, readonly string[]> = {
  typebox: ['api/contract/kit.ts', 'api/contract/schema.ts'],
  ajv: ['server/core/schema-check.ts'],
  pino: ['server/runtime/log.ts'],
  yaml: ['server/runtime/config/yaml.ts'],
  'prom-client': ['server/runtime/metrics.ts', 'server/runtime/watched-metrics.ts'],
  'node:sqlite': ['server/storage/sqlite/', 'server/storage/folder-lock.ts'],
  ioredis: ['server/sources/redis.ts'],
  pg: ['server/storage/postgres/'],
  'find-my-way': ['server/http/http-server.ts'],
  'fast-json-stringify': ['server/http/render.ts'],
  '@noble/hashes/sha3.js': [
    'server/core/checksum-address.ts',
    'server/fx/extensions/signature-check/',
    'server/sources/evm/keccak256.ts',
  ],
  '@noble/hashes/utils.js': ['server/fx/extensions/signature-check/hash-typed-data.ts'],
  '@noble/curves/secp256k1.js': [
    'server/fx/extensions/signature-check/recover-address.ts',
    'server/sources/evm/authorizations.ts',
  ],
  commander: ['cli/'],
  'hyparquet-writer': ['server/operations/export/format.ts'],
  '@modelcontextprotocol/server': ['server/operations/mcp/'],
  '@modelcontextprotocol/server/stdio': ['cli/mcp-stdio.ts'],
  // Their constants are those of one network, and are frozen when they are imported. So only the chain process has them.
  '@chainsafe/ssz': ['server/validators/chain/'],
  '@chainsafe/lodestar-z': ['server/validators/chain/native-engine.ts'],
  '@chainsafe/lodestar-z/bls-verifier': ['server/validators/chain/native-engine.ts'],
  '@chainsafe/lodestar-z/pubkeys': ['server/validators/chain/native-engine.ts'],
  '@lodestar/config': ['server/validators/chain/'],
  '@lodestar/params': ['server/validators/chain/'],
  '@lodestar/params/setPreset': ['server/validators/chain/network-preset.ts'],
  '@lodestar/state-transition': ['server/validators/chain/'],
  '@lodestar/types': ['server/validators/chain/'],
  preact: ['console/main.tsx'],
  'preact/compat': ['console/'],
  'preact/hooks': ['console/parts/error-boundary.tsx'],
  '@tanstack/preact-query': ['console/'],
  uplot: ['console/parts/draw-plot.ts'],
  'uplot/dist/uPlot.min.css': ['console/parts/draw-plot.ts'],
  vite: ['console/vite.config.ts'],
}

const layerOf = (file: string): string => {
  const found = layers.find(([prefix]) => file.startsWith(prefix))
  assert.ok(found, `${file} belongs to no layer: add its folder to test/imports.test.ts`)
  return found[1]
}

const aliases = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).imports as Record<string, string>

/** Project-relative path of an import, or the name of the package. */
function resolve(from: string, specifier: string): { file: string } | { package: string } {
  if (specifier.startsWith('.'))
    return {
      file: normalize(join(dirname(from), specifier))
        .split(sep)
        .join('/'),
    }
  if (specifier.startsWith('#')) {
    const alias = specifier.slice(0, specifier.indexOf('/'))
    const target = aliases[`${alias}/*`]
    assert.ok(target, `${from} imports ${specifier}: package.json has no such alias`)
    return { file: normalize(target.replace('*', specifier.slice(alias.length + 1))) }
  }
  return { package: specifier }
}

interface Import {
  readonly specifier: string
  /** Nothing of it exists when the program runs. */
  readonly isType: boolean
}

function importsOf(text: string): Import[] {
  const code = text.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/^\s*\/\/.*$/gm, '')
  const found = code.matchAll(
    /(?:^|\n)\s*(?:import|export)\b([^'"\n;]*?(?:\{[^}]*\}[^'"\n]*?)?)from\s*['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)|^\s*import\s+['"]([^'"]+)['"]/gm,
  )
  return [...found].map(([, names = '', ...specifiers]) => ({
    specifier: specifiers.find((specifier) => specifier !== undefined) ?? '',
    isType: /^\s*type\b|^\s*\{(\s*type [^,}]+,?)+\s*\}\s*$/.test(names),
  }))
}

const specifiersOf = (text: string): string[] => importsOf(text).map(({ specifier }) => specifier)

const sources = files.map((file) => ({ file, text: readFileSync(join(root, file), 'utf8') }))

test('the imports of all files are found', () => {
  const seen = sources.flatMap(({ text }) => specifiersOf(text))
  assert.ok(files.length > 20 && seen.length > files.length, `${seen.length} imports in ${files.length} files`)
  assert.deepEqual(
    specifiersOf(
      "import {\n  a,\n  b,\n} from './x.ts'\nexport { c } from '#core/y.ts'\nimport 'z'\nawait import('w')\n",
    ),
    ['./x.ts', '#core/y.ts', 'z', 'w'],
  )
  const imports = importsOf(
    [
      "import type { A } from './a.ts'",
      "import { type A, type B } from './b.ts'",
      "import { type A, b } from './c.ts'",
      "import {\n  type A,\n  type B as C,\n} from './d.ts'",
      "import { b, type A } from './e.ts'\n",
    ].join('\n'),
  )
  assert.deepEqual(
    imports.filter(({ isType }) => isType).map(({ specifier }) => specifier),
    ['./a.ts', './b.ts', './d.ts'],
  )
})

test('a layer imports only the layers below it', () => {
  const violations: string[] = []
  for (const { file, text } of sources) {
    const layer = layerOf(file)
    for (const specifier of specifiersOf(text)) {
      const target = resolve(file, specifier)
      if ('package' in target) continue
      const imported = target.file.endsWith('package.json') ? layer : layerOf(target.file)
      if (imported !== layer && !allowedImports[layer]?.includes(imported)) violations.push(`${file} → ${specifier}`)
    }
  }
  assert.deepEqual(violations, [])
})

/** The files that an import of a source file leads to, without packages. */
const edges = sources.flatMap(({ file, text }) =>
  importsOf(text).flatMap(({ specifier, isType }) => {
    const target = resolve(file, specifier)
    return 'package' in target ? [] : [{ from: file, to: target.file, isType }]
  }),
)

const isExtension = (file: string): boolean => /^server\/\w+\/extensions\//.test(file)
const isCore = (file: string): boolean =>
  /^server\/(core|runtime|sources|storage|ingest|webhooks|http|explorer|fx|validators|markets|endpoints\.ts)/.test(
    file,
  ) && !isExtension(file)

test('the core never imports an extension, neither its values nor its types', () => {
  assert.ok(files.filter(isCore).length > 100)
  assert.deepEqual(
    edges.filter(({ from, to }) => isCore(from) && isExtension(to)).map(({ from, to }) => `${from} → ${to}`),
    [],
  )
})

test('every extension has a line in the README of its group and in ARCHITECTURE.md', () => {
  const folders = new Set(files.filter(isExtension).map((file) => file.split('/').slice(0, 4).join('/')))
  const architecture = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8')
  for (const folder of folders) {
    const readme = readFileSync(join(root, dirname(folder), 'README.md'), 'utf8')
    assert.ok(readme.includes(`\n| \`${basename(folder)}/\` |`), `${folder} in the README of its group`)
    assert.ok(architecture.includes(`| \`${folder.replace('server/', '')}\` |`), `${folder} in ARCHITECTURE.md`)
  }
})

test('the parts of a folder of a group do not import each other in a circle', () => {
  const folders = new Set<string>()
  for (const file of files.filter((path) => /^server\/(explorer|fx|validators|markets)\//.test(path)))
    for (let folder = dirname(file); folder !== 'server'; folder = dirname(folder)) folders.add(folder)
  const circles = [...folders].flatMap(findCircles)
  assert.deepEqual(circles, [])
})

/** Imports of values among the files and folders in a folder that lead back to where they start. */
function findCircles(folder: string): string[] {
  const partOf = (file: string): string | undefined =>
    file.startsWith(`${folder}/`) ? relative(folder, file).split(sep)[0] : undefined
  const imported = new Map<string, Set<string>>()
  const inFolder = edges.filter(({ from, to, isType }) => {
    const [part, target] = [partOf(from), partOf(to)]
    if (isType || part === undefined || target === undefined || part === target) return false
    imported.set(part, (imported.get(part) ?? new Set()).add(target))
    return true
  })
  const reachableFrom = (start: string): Set<string> => {
    const reached = new Set<string>()
    const follow = (part: string): void => {
      for (const next of imported.get(part) ?? []) {
        if (reached.has(next)) continue
        reached.add(next)
        follow(next)
      }
    }
    follow(start)
    return reached
  }
  return inFolder
    .filter(({ from, to }) => reachableFrom(partOf(to) ?? '').has(partOf(from) ?? ''))
    .map(({ from, to }) => `${from} → ${to}`)
}

test('each package is imported only by the files listed for it', () => {
  const violations: string[] = []
  const builtin = new Set(builtinModules.flatMap((name) => [name, `node:${name}`]))
  for (const { file, text } of sources) {
    if (/^(docs|bench)\//.test(file)) continue
    for (const specifier of specifiersOf(text)) {
      const target = resolve(file, specifier)
      if (!('package' in target)) continue
      const users = packageUsers[target.package]
      if (users ? !users.some((user) => file.startsWith(user)) : !builtin.has(target.package)) {
        violations.push(`${file} → ${specifier}`)
      }
    }
  }
  assert.deepEqual(violations, [])
})

test('time, randomness, the environment and outgoing calls are accessed in runtime/ and sources/ only', () => {
  const outside =
    /\b(Date\.now\(|Math\.random\(|setTimeout\(|setInterval\(|AbortSignal\.timeout\(|process\.env\b|performance\.now\(|(?<![.\w])fetch\()|new Date\(\)/
  const violations = sources
    .filter(({ file }) => file.startsWith('server/') && !/^server\/(runtime|sources)\//.test(file))
    .flatMap(({ file, text }) =>
      text
        .split('\n')
        .map((line, index) => ({ line: line.replace(/\/\/.*$|^\s*\*.*$/, ''), number: index + 1 }))
        .filter(({ line }) => outside.test(line))
        .map(({ number }) => `${file}:${number}`),
    )
  assert.deepEqual(violations, [])
})

/** Modules with variables that keep something between calls, and why it is not in the context. */
const modulesWithState: Record<string, string> = {
  'server/core/closed-hours.ts': 'formats of time zones, which take longer to create than to use',
  'server/fx/typed-data/typed-data.ts': 'results of a pure function',
  'server/runtime/event-loop-yielder.ts': 'a process has one event loop',
  'server/sources/beacon/block-type.ts': 'results of a pure function',
  'server/sources/evm/decoder.ts': 'a thread without data of its own, which all nodes share',
  'server/validators/chain/child-main.ts': 'the main file of a process',
  'server/validators/duties/pack-row.ts': 'a buffer that is empty between calls',
  'server/validators/duties/packed-row.ts': 'the result of a pure function',
  'server/validators/duties/stage.ts': 'in the thread of one database; repairs have ids of their own',
  'server/validators/ingest/repair/repair-epochs.ts': 'gives every repair of the process an id of its own',
}

test('modules keep nothing between calls, except those listed with a reason', () => {
  const variable = /^(?:export )?(?:let \w|const \w+(?:: [^=]+)? = new (?:Map|Set|WeakMap|WeakSet)(?:<.+>)?\(\))/m
  const found = sources.filter(({ file, text }) => file.startsWith('server/') && variable.test(text))
  assert.deepEqual(found.map(({ file }) => file).sort(), Object.keys(modulesWithState))
})

test('there are no barrels, default exports, utils, helpers or managers', () => {
  const violations = sources
    .filter(
      ({ file, text }) =>
        /(^|\/)(index|utils?|helpers?|managers?)\.ts$/.test(file) ||
        // The build tool takes its configuration no other way.
        (/^export default/m.test(text) && file !== 'console/vite.config.ts'),
    )
    .map(({ file }) => file)
  assert.deepEqual(violations, [])
})

test('every file begins with a comment that says what it is for', () => {
  const violations = sources.filter(({ text }) => !/^(#!.*\n)?\/\//.test(text)).map(({ file }) => file)
  assert.deepEqual(violations, [])
})
