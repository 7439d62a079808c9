import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { networkId } from '#core/network-id.ts'
import { complete } from '#core/schema-check.ts'
import { leaves } from './config/leaves.ts'
import { ConfigError, type ConfigRequest, loadConfig, otherVariables, presentable } from './config.ts'
import { networksOf } from './settings/validators.ts'
import { SettingsSchema } from './settings.ts'

/** A folder with this `tetrad.yaml` in it. */
async function folderWith(text?: string | Uint8Array) {
  const folder = await mkdtemp(join(tmpdir(), 'tetrad-config-'))
  if (text !== undefined) await writeFile(join(folder, 'tetrad.yaml'), text)
  return { folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) }
}

async function load(text: string | Uint8Array | undefined, request: Partial<ConfigRequest> = {}) {
  await using home = await folderWith(text)
  return await loadConfig({ env: {}, flags: [], folder: home.folder, ...request })
}

/** `where  message` of each problem. */
async function problemsOf(text: string | Uint8Array | undefined, request: Partial<ConfigRequest> = {}) {
  try {
    await load(text, request)
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.map(({ where, message }) => `${where}  ${message}`)
    throw error
  }
  return []
}

const port = (text: string) => ({ name: '--port', path: 'server.port', text })

describe('precedence', () => {
  test('without configuration every setting has its default', async () => {
    const { settings, sources } = await load(undefined)
    assert.deepEqual(settings, complete(SettingsSchema, {}).value)
    assert.deepEqual(sources, { file: undefined, variables: [], flags: [] })
  })

  test('a file overrides defaults, a variable overrides the file, a flag overrides the variable', async () => {
    const text = 'server:\n  port: 1001\n  host: 0.0.0.0\n'
    const env = { TETRAD_SERVER_PORT: '1002' }
    assert.equal((await load(text)).settings.server.port, 1001)
    assert.equal((await load(text, { env })).settings.server.port, 1002)
    const { settings, sources } = await load(text, { env, flags: [port('1003')] })
    assert.equal(settings.server.port, 1003)
    assert.equal(settings.server.host, '0.0.0.0')
    assert.deepEqual(sources, { file: 'tetrad.yaml', variables: ['TETRAD_SERVER_PORT'], flags: ['--port'] })
  })

  test('a file given by flag, or else by variable, is read instead of tetrad.yaml', async () => {
    await using home = await folderWith('server: { port: 1 }')
    await writeFile(join(home.folder, 'a.yaml'), 'server: { port: 2 }')
    await writeFile(join(home.folder, 'b.yaml'), 'server: { port: 3 }')
    const at = async (request: Partial<ConfigRequest>) =>
      (await loadConfig({ env: {}, flags: [], folder: home.folder, ...request })).settings.server.port
    assert.equal(await at({}), 1)
    assert.equal(await at({ env: { TETRAD_CONFIG: 'a.yaml' } }), 2)
    assert.equal(await at({ env: { TETRAD_CONFIG: 'a.yaml' }, file: 'b.yaml' }), 3)
  })

  test('every setting can be set by its variable without changes', async () => {
    assert.equal(new Set([...leaves.map(({ variable }) => variable), ...otherVariables]).size, leaves.length + 4)
    for (const { variable, node, path } of leaves) {
      const value = node.default
      const text = typeof value === 'string' ? value : JSON.stringify(value)
      const { settings } = await load(undefined, { env: { [variable]: text } })
      const at = (root: unknown) => path.reduce<unknown>((held, step) => (held as Record<string, unknown>)[step], root)
      assert.deepEqual(at(settings), at(complete(SettingsSchema, {}).value), variable)
    }
  })

  test('variables accept text, numbers, booleans, and lists and objects as JSON', async () => {
    const { settings } = await load(undefined, {
      env: {
        TETRAD_SERVER_PUBLIC_URL: 'https://tetrad.example',
        TETRAD_EXPLORER_LABELS_INLINE_MAX: '7',
        TETRAD_FX_TERMS_DAILY_SPREAD_BPS: '1.5',
        TETRAD_FX_TERMS_DAILY_FEE_BPS: '3',
        TETRAD_MARKETS_REQUIRE_KEY: 'true',
        TETRAD_EXPLORER_CHAINS: '[{"id":"10","name":"Ten"}]',
        TETRAD_ALIASES_PATHS: '{"/old":"/v2/api"}',
      },
    })
    assert.equal(settings.server.publicUrl, 'https://tetrad.example')
    assert.equal(settings.explorer.labels.inlineMax, 7)
    assert.equal(settings.fx.terms.daily.spreadBps, '1.5')
    assert.equal(settings.fx.terms.daily.feeBps, 3)
    assert.equal(settings.markets.requireKey, true)
    assert.deepEqual(
      settings.explorer.chains.map(({ id, name }) => ({ id, name })),
      [{ id: '10', name: 'Ten' }],
    )
    assert.deepEqual(settings.aliases.paths, { '/old': '/v2/api' })
  })

  test('a node may be a URL in place of an entry', async () => {
    const chains = "explorer:\n  chains: [{ id: '1', name: One, rpc: [http://a.test, { url: http://b.test }] }]\n"
    const networks = 'validators: { networks: { hoodi: { execution: { rpc: [http://c.test] } } } }\n'
    const { settings } = await load(chains + networks)
    const urlsOf = (nodes: readonly { readonly url: string }[] = []) => nodes.map(({ url }) => url)
    assert.deepEqual(urlsOf(settings.explorer.chains[0]?.rpc), ['http://a.test', 'http://b.test'])
    const { rpc } = settings.validators.networks.hoodi.execution
    assert.deepEqual([urlsOf(rpc), rpc[0]?.batchMax], [['http://c.test'], 50])
  })

  test('a network may have any name of lower-case letters, digits and hyphens', async () => {
    const network = '{ beacon: { urls: [http://a.test] }, execution: { rpc: [http://b.test] }, watch: }'
    const { settings } = await load(`validators: { networks: { devnet-7: ${network} } }\n`)
    const { beacon, execution, watchPastDays } = settings.validators.networks['devnet-7'] ?? assert.fail()
    assert.deepEqual([beacon.urls, beacon.timeoutMs, watchPastDays], [['http://a.test'], 60_000, 7])
    assert.deepEqual([execution.rpc[0]?.url, execution.rpc[0]?.batchMax], ['http://b.test', 50])
    assert.deepEqual(networksOf(settings), ['mainnet', 'hoodi', 'holesky', 'devnet-7'])
    const wrong = await problemsOf('validators: { networks: { Devnet: {} } }\n')
    assert.match(wrong.join(), /tetrad\.yaml:1:27 {2}validators\.networks\.Devnet is not a known name/)
    const unnamed = 'validators: { relays: [{ network: devnet, url: "https://relay.test" }] }\n'
    assert.match((await problemsOf(unnamed)).join(), /relays\[0\]\.network must be one of mainnet, hoodi, holesky/)
  })

  test('two networks whose numbers in the database are equal are refused', async () => {
    const names = ['devnet', ...Array.from({ length: 5000 }, (_, at) => `other-${at}`)]
    const same = names.findLast((name) => networkId(name) === networkId('devnet'))
    assert.ok(same && same !== 'devnet')
    const problems = await problemsOf(`validators: { networks: { devnet: {}, ${same}: {} } }\n`)
    assert.match(problems.join(), new RegExp(`${same} has the same number in the database as devnet; choose another`))
  })

  test('an empty variable counts as not set', async () => {
    assert.equal((await load('server: { port: 5 }', { env: { TETRAD_SERVER_PORT: '' } })).settings.server.port, 5)
  })

  test('an empty file and a section with only comments mean the defaults', async () => {
    assert.equal((await load('')).settings.server.port, 8080)
    assert.equal((await load('server:\n  # port: 9000\nfx:\n  terms:\n    daily:\n')).settings.server.port, 8080)
  })

  test('anchors can be used to share values', async () => {
    const { settings } = await load('plans:\n  free: &few { perSecond: 1 }\n  lite: *few\n')
    assert.equal(settings.plans.lite.perSecond, 1)
    assert.equal(settings.plans.lite.perDay, 100_000)
  })
})

describe('configured', () => {
  const configured = async (text: string | undefined, env: Record<string, string> = {}) =>
    (await load(text, { env, flags: [port('0')] })).configured

  test('is false with only settings of address, log, aliases and MCP, so that the demo is shown', async () => {
    assert.equal(await configured(undefined), false)
    assert.equal(await configured(undefined, { TETRAD_SERVER_PORT: '1', TETRAD_LOG_LEVEL: 'warn' }), false)
    assert.equal(await configured(undefined, { TETRAD_KEY: 'x', TETRAD_DATA: 'elsewhere' }), false)
    assert.equal(await configured(undefined, { TETRAD_ALIASES_HIDDEN_FIELDS: '["subpool"]' }), false)
    assert.equal(await configured('aliases: { hiddenFields: [subpool] }'), false)
    assert.equal(await configured('aliases:\nlog: { level: warn }\nserver: { port: 1 }'), false)
    assert.equal(await configured('mcp: { enabled: true }\nserver: { port: 1 }'), false)
    assert.equal(await configured(undefined, { TETRAD_MCP_ENABLED: 'true' }), false)
  })

  test('is true with a file or any other variable', async () => {
    assert.equal(await configured(''), true)
    assert.equal(await configured('server: { port: 1 }'), true)
    assert.equal(await configured('aliases:\nmarkets:\n'), true)
    assert.equal(await configured(undefined, { TETRAD_MARKETS_REQUIRE_KEY: 'true' }), true)
  })
})

describe('problems in the file have file, line and column, what is expected and what was found', () => {
  const table: readonly (readonly [string, string, readonly string[]])[] = [
    ['a wrong type', 'server:\n  port: abc\n', ['tetrad.yaml:2:9  server.port must be integer, found "abc"']],
    ['too large', 'server: { port: 65536 }\n', ['tetrad.yaml:1:17  server.port must be at most 65535, found 65536']],
    [
      'not among the choices',
      'log:\n  level: loud\n',
      ['tetrad.yaml:2:10  log.level must be one of debug, info, warn, error, silent, found "loud"'],
    ],
    [
      'unknown names, with a suggestion',
      'sevrer:\n  port: 1\n',
      ['tetrad.yaml:1:1  sevrer is not a known name; did you mean server?'],
    ],
    [
      'an unknown name further in, even without a value',
      'server:\n  publicURl: x\n  prot:\n',
      [
        'tetrad.yaml:2:3  server.publicURl is not a known name; did you mean publicUrl?',
        'tetrad.yaml:3:3  server.prot is not a known name; did you mean port?',
      ],
    ],
    [
      'a name that belongs elsewhere',
      'inlineMax: 5\n',
      ['tetrad.yaml:1:1  inlineMax is not a known name; did you mean explorer.labels.inlineMax?'],
    ],
    ['an unknown name', 'zzzzzz: 1\n', ['tetrad.yaml:1:1  zzzzzz is not a known name']],
    ['a name of the language', '__proto__: { port: 1 }\n', ['tetrad.yaml:1:1  __proto__ is not a known name']],
    [
      'a list entry that misses something, and a number that should be text',
      'explorer:\n  chains:\n    - id: 1\n',
      [
        'tetrad.yaml:3:7  explorer.chains[0].name is required',
        'tetrad.yaml:3:11  explorer.chains[0].id must be string, found 1; put it in quotes',
      ],
    ],
    [
      'a fraction without quotes',
      'fx:\n  terms: { instant: { feeBps: 2.5 } }\n',
      ['tetrad.yaml:2:31  fx.terms.instant.feeBps must be integer or string, found 2.5; put it in quotes'],
    ],
    [
      'settings that do not fit together',
      'fx:\n  pairs:\n    - { from: USDC, to: GBPX }\n  limits: { max: "0.5" }\n',
      [
        'tetrad.yaml:4:11  fx.limits must have a max (0.5) that is at least its min (1), found a section',
        'tetrad.yaml:3:25  fx.pairs[0].to must be the code of a token, found "GBPX"',
        'tetrad.yaml:3:7  fx.pairs[0] must have a max (0.5) that is at least its min (1), found a section',
      ],
    ],
    ['a list instead of a section', 'server: [1]\n', ['tetrad.yaml:1:9  server must be object, found a list']],
    [
      'a section instead of a number',
      'server: { port: { a: 1 } }\n',
      ['tetrad.yaml:1:17  server.port must be integer, found a section'],
    ],
    ['a list instead of names', '- server\n', ['tetrad.yaml:1:1  the file must be object, found a list']],
    [
      'a name set twice',
      'log:\n  level: info\nlog:\n  level: warn\n',
      ['tetrad.yaml:3:1  log is set twice; keep one of them'],
    ],
    ['a tab', 'server:\n\tport: 1\n', ['tetrad.yaml:2:1  a tab is used for indentation; use spaces']],
    [
      'two documents',
      'log:\n  level: info\n---\nlog:\n',
      ['tetrad.yaml:3:1  a second document starts here; use a single document'],
    ],
    ['an unknown tag', 'server: !home { port: 1 }\n', ['tetrad.yaml:1:9  not valid YAML: Unresolved tag: !home']],
    ['a list as a name', '? [a, b]\n: 1\n', ['tetrad.yaml:1:3  a name must be plain text']],
    [
      'an alias of nothing',
      'server: *home\n',
      ['tetrad.yaml:1:1  not valid YAML: Unresolved alias (the anchor must be set before the alias): home'],
    ],
    [
      'aliases that multiply',
      [
        'a: &a [x, x, x, x, x, x, x, x, x]',
        'b: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a]',
        'c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b]',
        'd: [*c, *c, *c, *c, *c, *c, *c, *c, *c]',
      ].join('\n'),
      ['tetrad.yaml:1:1  aliases expand to more than 100 copies; write the values out'],
    ],
  ]
  for (const [what, text, expected] of table) {
    test(what, async () => assert.deepEqual(await problemsOf(text), expected))
  }

  test('all problems of file, variables and flags are reported together', async () => {
    assert.deepEqual(
      await problemsOf('server:\n  port: x\nlog: { level: 1 }\n', {
        env: { TETRAD_MARKETS_REQUIRE_KEY: 'perhaps', TETRAD_EXPLORER_CHAINS: '[{' },
        flags: [{ name: '--host', path: 'server.host', text: 'h' }],
      }),
      [
        'TETRAD_EXPLORER_CHAINS  must be a list written as JSON',
        'tetrad.yaml:2:9  server.port must be integer, found "x"',
        'tetrad.yaml:3:15  log.level must be string, found 1; put it in quotes',
        'tetrad.yaml:3:15  log.level must be one of debug, info, warn, error, silent, found 1',
        'TETRAD_MARKETS_REQUIRE_KEY  markets.requireKey must be boolean, found "perhaps"',
      ],
    )
  })

  test('truncated YAML is reported with its line', async () => {
    const [first = ''] = await problemsOf('server:\n  host: "x\n')
    assert.match(first, /^tetrad\.yaml:3:1 {2}not valid YAML: Missing closing "quote/)
  })

  test('extreme nesting is refused without a crash', async () => {
    const [first = ''] = await problemsOf('['.repeat(50_000))
    assert.match(first, /the nesting is too deep/)
  })

  test('tens of thousands of names are parsed quickly', async () => {
    const names = Array.from({ length: 40_000 }, (_, at) => `  "/${at}": /v2/api`)
    const { settings } = await load(`aliases:\n paths:\n${names.join('\n')}\n`)
    assert.equal(Object.keys(settings.aliases.paths).length, 40_000)
  })
})

describe('problems with the file itself', () => {
  test('a given file must exist', async () => {
    assert.deepEqual(await problemsOf(undefined, { file: 'none.yaml' }), ['none.yaml  does not exist; check --config'])
  })

  test('a folder is not a file', async () => {
    await using home = await folderWith()
    await mkdir(join(home.folder, 'etc'))
    await assert.rejects(loadConfig({ env: {}, flags: [], folder: home.folder, file: 'etc' }), /etc {2}is a folder/)
  })

  test('more than 1 MiB is refused; exactly 1 MiB is accepted', async () => {
    const line = 'log: { level: warn }\n'
    assert.equal((await load(line.padEnd(1_048_576, '#'))).settings.log.level, 'warn')
    assert.deepEqual(await problemsOf(line.padEnd(1_048_577, '#')), ['tetrad.yaml  is longer than 1048576 bytes'])
  })

  test('bytes that are not UTF-8 are refused', async () => {
    assert.deepEqual(await problemsOf(Uint8Array.of(0x61, 0x3a, 0x20, 0xff)), ['tetrad.yaml  is not UTF-8 text'])
  })
})

describe('problems in variables and flags have their name', () => {
  const env = (name: string, text: string) => problemsOf(undefined, { env: { [name]: text } })

  test('invalid values', async () => {
    assert.deepEqual(await env('TETRAD_SERVER_PORT', '70000'), [
      'TETRAD_SERVER_PORT  server.port must be at most 65535, found 70000',
    ])
    assert.deepEqual(await problemsOf(undefined, { flags: [port('http')] }), [
      '--port  server.port must be integer, found "http"',
    ])
    assert.deepEqual(await env('TETRAD_EXPLORER_CHAINS', '[{"id":"1"}]'), [
      'TETRAD_EXPLORER_CHAINS  explorer.chains[0].name is required',
    ])
  })

  test('rates that would expire before another server takes over, only with a shared database', async () => {
    const fx = 'fx:\n  sources:\n    - { id: a, kind: file, path: a.json, staleMs: 5000 }\n'
    assert.deepEqual(await problemsOf(fx), [])
    const [problem, ...others] = await problemsOf(`${fx}store: { state: 'postgres://127.0.0.1/x' }\n`)
    assert.match(problem ?? '', /staleMs must be at least 15500 with store\.state/)
    assert.deepEqual(others, [])
  })

  test('unknown names, with a suggestion', async () => {
    assert.deepEqual(await env('TETRAD_SERVER_PROT', '1'), [
      'TETRAD_SERVER_PROT  is not a known variable; did you mean TETRAD_SERVER_PORT?',
    ])
    assert.deepEqual(await env('TETRAD_PORT', '9000'), [
      'TETRAD_PORT  is not a known variable; did you mean TETRAD_SERVER_PORT?',
    ])
    assert.deepEqual(await env('TETRAD_SOMETHING_ELSE', '1'), ['TETRAD_SOMETHING_ELSE  is not a known variable'])
  })

  test('duplicate ids of chains and feeds, and invalid URLs', async () => {
    const chain = { id: '5', name: 'Five' }
    const feed = { id: 'a', url: 'https://feed.test/' }
    const twice = { explorer: { chains: [chain, chain] }, markets: { feeds: [feed, feed] } }
    await assert.rejects(load(JSON.stringify(twice)), (error: Error) => {
      assert.match(error.message, /explorer\.chains\[1\]\.id is used twice/)
      assert.match(error.message, /markets\.feeds\[1\]\.id is used twice/)
      return true
    })
    const astray = { markets: { feeds: [{ ...feed, url: 'ftp://feed.test/' }] } }
    await assert.rejects(load(JSON.stringify(astray)), /markets\.feeds\[0\]\.url must begin with http/)
  })

  test('an alias with an unknown placeholder, with its line', async () => {
    assert.deepEqual(await problemsOf('aliases:\n  paths:\n    /old/{a}: /new/{b}\n'), [
      'tetrad.yaml:3:15  aliases.paths./old/{a} uses {b}, but /old/{a} has {a}; use the same names on both sides, found "/new/{b}"',
    ])
  })

  test('an alias to an unknown path, a host that is a URL, and an invalid spender', async () => {
    assert.deepEqual(await problemsOf('aliases:\n  paths:\n    /old: /v2/apis\n'), [
      'tetrad.yaml:3:11  aliases.paths./old leads to /v2/apis, which is not a path of this server, found "/v2/apis"',
    ])
    for (const host of ['http://x', 'x.test:8080', 'x.test/', '-x', 'a b']) {
      const [first = ''] = await problemsOf(JSON.stringify({ groups: { markets: { host } } }))
      assert.match(first, /groups\.markets\.host must be a host name such as/, host)
    }
    for (const host of ['', 'x', 'Markets.example.net', '127.0.0.1', '[::1]', 'my_service']) {
      assert.equal((await load(JSON.stringify({ groups: { markets: { host } } }))).settings.groups.markets.host, host)
    }
    assert.deepEqual(await problemsOf(`fx:\n  spender: '0x${'0'.repeat(40)}'\n`), [
      `tetrad.yaml:2:12  fx.spender must not be the zero address; leave it empty to give reference quotes only, found "0x${'0'.repeat(40)}"`,
    ])
  })

  test('variables that Kubernetes sets for a service named tetrad are ignored', async () => {
    const links = {
      TETRAD_PORT: 'tcp://10.0.0.7:8080',
      TETRAD_SERVICE_HOST: '10.0.0.7',
      TETRAD_SERVICE_PORT: '8080',
      TETRAD_PORT_8080_TCP_ADDR: '10.0.0.7',
    }
    const { sources, configured } = await load(undefined, { env: links })
    assert.deepEqual([sources.variables, configured], [[], false])
  })

  test('credentials in URLs are not repeated', async () => {
    const secret = 'hunter2'
    const problems = await problemsOf(
      `fx:\n  sources: [{ id: a, kind: http-jsn, url: "ht tp://u:${secret}@h/${secret}" }]`,
    )
    assert.ok(problems.length > 0)
    assert.ok(!problems.join().includes(secret))
    assert.equal(presentable(`https://u:${secret}@rates.example/v1?k=${secret}`), 'https://rates.example/…')
    assert.equal(presentable('https://tetrad.example'), 'https://tetrad.example')
  })
})
