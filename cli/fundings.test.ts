// `tetrad fundings` against a simulated node, compared with the simulated chain.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { csvRows } from '#core/csv.ts'
import { createExplorerCaches } from '#explorer/context.ts'
import { startOperations } from '#operations/start.ts'
import { systemClock } from '#runtime/clock.ts'
import { silentLog } from '#runtime/log.ts'
import { systemRandom } from '#runtime/random.ts'
import { createContext } from '#server/context.ts'
import { demoSeed } from '#simulator/demo-seed.ts'
import { SimulatedChain } from '#simulator/evm/chain.ts'
import { openIngest, openStores } from '#storage/open.ts'
import { settingsWith } from '#test/context.ts'
import { loadDemoExplorer } from '#test/load-demo.ts'
import { commandEnv, launcher, openFolder, runCommand } from '#test/run-command.ts'
import { firstFunding } from '#test/simulator/first-funding.ts'
import { LimitedNode, type SimulatedCapabilities } from '#test/simulator/limited-node.ts'
import { copyEmptyStores } from '#test/template.ts'
import { dutiesOnThisThread } from '#validators/duties/store.ts'

const chain = new SimulatedChain({ seed: 'fundings', id: '77', finalLag: 10 })
chain.mine(150)
const addresses = [
  ...chain.addresses().slice(0, 40),
  ...Array.from({ length: 30 }, (_, at) => `0x${(0x9900 + at).toString(16).padStart(40, '0')}`),
]

/** Contracts are found as well. */
const capabilities: SimulatedCapabilities = { traces: ['trace_block'], filterBlocks: 1000 }

let node: LimitedNode
let url: string
before(async () => {
  node = new LimitedNode(chain, capabilities)
  url = await node.listen()
})
after(() => node[Symbol.asyncDispose]())

/** A folder with a configuration and `addresses.csv`. */
async function openScene(input: string, { nodeUrl = url, explorer = {} } = {}) {
  const folder = await openFolder()
  const chains = [{ id: '77', name: 'Simulated', rpc: [{ url: nodeUrl }] }]
  const settings = { explorer: { chains, ...explorer } }
  await writeFile(join(folder.dir, 'tetrad.yaml'), JSON.stringify(settings))
  await writeFile(join(folder.dir, 'addresses.csv'), input)
  return {
    dir: folder.dir,
    settings,
    path: (name: string) => join(folder.dir, name),
    read: (name: string) => readFile(join(folder.dir, name), 'utf8'),
    run: (...args: string[]) => runCommand(['fundings', '--in', 'addresses.csv', ...args], { cwd: folder.dir }),
    [Symbol.asyncDispose]: folder[Symbol.asyncDispose],
  }
}

function parse(csv: string): Record<string, string>[] {
  const [names, ...rows] = [...csvRows(csv)].map(({ cells }) => cells)
  return rows.map((cells) => Object.fromEntries(cells.map((cell, at) => [names?.[at] ?? '', cell])))
}

function checkAgainstChain(rows: readonly Record<string, string>[]): void {
  assert.deepEqual(
    rows.map(({ address }) => address),
    addresses,
  )
  for (const row of rows) {
    const expected = firstFunding(chain, row.address ?? '')
    const found = [row.status, row.block, row.funder, row.tx, row.value_wei]
    if (expected)
      assert.deepEqual(found, [
        ...['funded', String(expected.block), expected.from, expected.tx, expected.valueWei.toString()],
      ])
    else assert.deepEqual(found, ['none', '', '', '', ''])
  }
}

const list = `${addresses.join('\n')}\n`

describe('output', () => {
  test('each address has a row in the order of the input, with what is on the chain', async () => {
    await using at = await openScene(list)
    const { code, stdout, stderr } = await at.run('--out', 'fundings.csv')
    assert.deepEqual([code, stdout], [0, ''], stderr)
    const rows = parse(await at.read('fundings.csv'))
    checkAgainstChain(rows)
    const funded = rows.filter(({ status }) => status === 'funded').length
    assert.ok(funded >= 20, `${funded} are funded`)
    assert.match(stderr, new RegExp(`^70 addresses: ${funded} funded, ${70 - funded} none\\.$`, 'm'))
    assert.match(rows.find(({ status }) => status === 'funded')?.time ?? '', /^20\d\d-.*Z$/)
    assert.match(rows.at(-1)?.reason ?? '', /^No transfer came in up to block \d+\.$/)
  })

  test('NDJSON to standard output has the same rows', async () => {
    await using at = await openScene(list)
    const csv = parse((await at.run()).stdout)
    const { stdout } = await at.run('--format', 'ndjson')
    const rows = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    assert.deepEqual(
      rows.map((row) =>
        Object.fromEntries(Object.entries(row).map(([name, value]) => [name, value === null ? '' : String(value)])),
      ),
      csv,
    )
    assert.equal(typeof rows[0].chain, 'string')
    assert.equal(typeof rows.find(({ status }) => status === 'funded').block, 'number')
  })

  test('other columns are kept, and what is not an address is named', async () => {
    const [first = ''] = addresses
    await using at = await openScene(
      `user,Address,remark\r\n7,${first.toUpperCase().replace('0X', '0x')},"a, ""b"""\r\n8,dora.eth,=1+1\r\n`,
    )
    const { code, stdout, stderr } = await at.run('--for-spreadsheets')
    assert.equal(code, 3, stderr)
    const [funded, invalid] = parse(stdout)
    assert.deepEqual([funded?.user, funded?.remark], ['7', 'a, "b"'])
    assert.equal(funded?.Address?.toLowerCase(), first)
    assert.equal(funded?.block, String(firstFunding(chain, first)?.block))
    assert.deepEqual([invalid?.user, invalid?.status, invalid?.remark], ['8', 'invalid', "'=1+1"])
    assert.equal(invalid?.reason, 'An address must be 0x and 40 hexadecimal digits.')
  })

  test('reads standard input, and an output can be an input', async () => {
    await using at = await openScene(list)
    const output = (await at.run()).stdout
    const child = spawn(process.execPath, [launcher, 'fundings', '--in', '-'], { cwd: at.dir, env: commandEnv() })
    child.stdin.end(output)
    assert.equal(
      await child.stdout
        .setEncoding('utf8')
        .toArray()
        .then((parts) => parts.join('')),
      output,
    )
  })
})

describe('continuing', () => {
  for (const format of ['csv', 'ndjson']) {
    test(`an interrupted ${format} file is continued after its last complete row`, async () => {
      await using at = await openScene(list)
      const out = `fundings.${format}`
      await at.run('--out', out)
      const whole = await at.read(out)
      const { size } = await stat(at.path(out))
      for (const part of [0, 5, Math.floor(size / 3), Math.floor(size / 2), size - 1]) {
        await writeFile(at.path(out), whole)
        await truncate(at.path(out), part)
        const { code, stderr } = await at.run('--out', out)
        assert.equal(code, 0, stderr)
        assert.equal(await at.read(out), whole, `cut at ${part}`)
        const lines = whole.slice(0, part).split('\n').length - (format === 'csv' ? 2 : 1)
        if (lines > 0) assert.match(stderr, new RegExp(`${out} has ${lines} of 70 addresses already\\.`))
      }
      assert.equal((await at.run('--out', out)).code, 0, 'a complete file stays')
      assert.equal(await at.read(out), whole)
    })
  }

  test('another file, another order and other options are refused, and the file stays', async () => {
    await using at = await openScene(list)
    await writeFile(at.path('fundings.csv'), 'name,value\n1,2\n')
    const { code, stderr } = await at.run('--out', 'fundings.csv')
    assert.equal(code, 1)
    assert.match(stderr, /fundings\.csv was not written for this input.*Its first line differs\. Choose another --out/)
    assert.equal(await at.read('fundings.csv'), 'name,value\n1,2\n')

    await at.run('--out', 'other.csv')
    const before = await at.read('other.csv')
    await writeFile(at.path('addresses.csv'), `${addresses.toReversed().join('\n')}\n`)
    assert.match((await at.run('--out', 'other.csv')).stderr, /Row 1 differs/)
    await writeFile(at.path('addresses.csv'), `${addresses.slice(0, 50).join('\n')}\n`)
    assert.match((await at.run('--out', 'other.csv')).stderr, /Row 51 differs/)
    assert.match((await at.run('--out', 'addresses.csv')).stderr, /addresses\.csv was not written for this input/)
    assert.equal(await at.read('other.csv'), before)
  })

  test('Ctrl-C ends after the rows that are being searched, and the next run continues', async () => {
    await using at = await openScene(list)
    await at.run('--out', 'expected.csv')
    let isHeld = true
    const { promise: held, resolve: release } = Promise.withResolvers<void>()
    const { promise: isSearching, resolve: reportSearch } = Promise.withResolvers<void>()
    const holding = new (class extends LimitedNode {
      override async respond(body: string) {
        if (isHeld && body.includes('eth_getBalance')) {
          reportSearch()
          await held
        }
        return super.respond(body)
      }
    })(chain, capabilities)
    await using slow = holding
    await using other = await openScene(list, { nodeUrl: await slow.listen() })
    const args = [launcher, 'fundings', '--in', 'addresses.csv', '--out', 'fundings.csv']
    const child = spawn(process.execPath, args, {
      cwd: other.dir,
      env: commandEnv(),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const errors = child.stderr.setEncoding('utf8').toArray()
    await isSearching
    child.kill('SIGINT')
    isHeld = false
    release()
    const [code] = await once(child, 'exit')
    assert.equal(code, 1)
    assert.match((await errors).join(''), /Stopped\. 32 of 70 addresses are written\. Run the same command again/)
    const expected = await at.read('expected.csv')
    const written = await other.read('fundings.csv')
    assert.equal(written, expected.slice(0, written.length))
    assert.equal(parse(written).length, 32)
    assert.equal((await other.run('--out', 'fundings.csv')).code, 0)
    assert.equal(await other.read('fundings.csv'), expected)
  })
})

describe('where it searches', () => {
  test('next to a running server, the server searches and stores the results', async () => {
    await using at = await openScene(list)
    const dataDir = join(at.dir, 'data')
    const { state, ingest, duties, close } = await openStores(dataDir, {})
    const settings = settingsWith(at.settings)
    const context = createContext({
      ...{ settings, state, ingest, duties: dutiesOnThisThread(duties) },
      ...{ clock: systemClock, random: systemRandom, log: silentLog },
    })
    {
      await using _ = await startOperations(context, { dataDir, version: '0' })
      const { code, stdout, stderr } = await at.run()
      assert.equal(code, 0, stderr)
      checkAgainstChain(parse(stdout))
      assert.ok(context.explorer.nodes.has('77'), 'the server has searched')
      const [{ stored } = assert.fail()] = await ingest.all<{ stored: number }>(
        'select count(*) as stored from fundings where ground > 0',
      )
      assert.ok(Number(stored) >= 20, `${stored} results are stored`)
    }
    await close()
  })

  test('if no node responds, the command stops, and nothing is lost', async () => {
    await using at = await openScene(list, { nodeUrl: 'http://127.0.0.1:9' })
    const { code, stderr } = await at.run('--out', 'fundings.csv')
    assert.equal(code, 1)
    assert.match(stderr, /The nodes do not respond \(.*ECONNREFUSED.*\)\. 0 of 70 addresses are written\./)
    assert.equal(parse(await at.read('fundings.csv')).length, 0)
    await writeFile(
      at.path('tetrad.yaml'),
      JSON.stringify({ explorer: { chains: [{ id: '77', name: 'S', rpc: [{ url }] }] } }),
    )
    assert.equal((await at.run('--out', 'fundings.csv')).code, 0)
    checkAgainstChain(parse(await at.read('fundings.csv')))
  })

  test('without a node, what is not stored is not covered, and the exit code is 3', async () => {
    await using at = await openScene(list)
    await at.run()
    await writeFile(at.path('tetrad.yaml'), JSON.stringify({ explorer: { chains: [{ id: '77', name: 'Stored' }] } }))
    const { code, stdout } = await at.run()
    assert.equal(code, 3)
    for (const { status, finality, reason, address = '' } of parse(stdout)) {
      const expected = firstFunding(chain, address)
      const isFinal = expected !== undefined && expected.block <= chain.head.number - 10
      assert.equal(status, isFinal ? 'funded' : 'not_covered')
      if (isFinal) assert.equal(finality, 'finalized')
      else assert.match(reason ?? '', /No block of chain 77 has been read yet/)
    }
  })
})

test('the example of the documentation is what the command writes for the demo data', async () => {
  const page = await readFile(join(import.meta.dirname, '../docs/fundings.md'), 'utf8')
  const [input = '', output = ''] = [...page.matchAll(/```csv\n([\s\S]*?)```/g)].map(([, block]) => block)
  await using home = await openFolder()
  await copyEmptyStores(join(home.dir, 'data'))
  const state = await openIngest(join(home.dir, 'data'))
  const world = { settings: settingsWith(), clock: systemClock, random: systemRandom, log: silentLog }
  await loadDemoExplorer({ ingest: state, ...world, explorer: createExplorerCaches() }, demoSeed)
  await state.close()
  await writeFile(join(home.dir, 'addresses.csv'), input)
  const { code, stdout } = await runCommand(['fundings', '--in', 'addresses.csv'], { cwd: home.dir })
  assert.equal(code, 3)
  // The time depends on the start of the demo.
  const withoutTime = (csv: string) => csv.replaceAll('\r', '').replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
  assert.equal(withoutTime(stdout), withoutTime(output))
})

describe('wrong input', () => {
  const [first = ''] = addresses
  for (const [name, input, text] of [
    ['several columns without a header', `1,${first}\n`, /has 2 columns, and none of them is named address/],
    ['a row with too few values', `address,user\n${first}\n`, /line 2: the row has 1 values, the first line has 2/],
    ['an open quote', `address\n"${first}\n`, /line 2: the closing quote is missing/],
    ['another chain', `address,chain\n${first},1\n`, /line 2: the address is of chain 1\. Pass --chain 1/],
    ['no address', 'address\n\n', /addresses\.csv has no addresses/],
  ] as const) {
    test(`1: ${name}`, async () => {
      await using at = await openScene(input)
      const { code, stdout, stderr } = await at.run()
      assert.deepEqual([code, stdout], [1, ''])
      assert.match(stderr, text)
    })
  }

  test('2: --for-spreadsheets with NDJSON', async () => {
    await using at = await openScene(list)
    const { code, stderr } = await at.run('--for-spreadsheets', '--format', 'ndjson')
    assert.deepEqual([code, /needs --format csv/.test(stderr)], [2, true])
  })
})
