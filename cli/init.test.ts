import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { knownChains } from '#core/known-chains.ts'
import { systemClock } from '#runtime/clock.ts'
import { loadConfig } from '#runtime/config.ts'
import { networkSettings } from '#runtime/settings/validators.ts'
import type { Settings } from '#runtime/settings.ts'
import { SimulatedChain } from '#simulator/evm/chain.ts'
import { type StandaloneSimulator, startStandaloneSimulator } from '#simulator/standalone.ts'
import { type AlteringProxy, jsonAt, openAlteringProxy } from '#test/altering-proxy.ts'
import { openReplay } from '#test/beacon-replay.ts'
import { openContext } from '#test/context.ts'
import { isInstalled } from '#test/programs.ts'
import { prysmGloasRecording, prysmRecording } from '#test/prysm-recording.ts'
import { commandEnv, launcher, openFolder, runCommand } from '#test/run-command.ts'
import { LimitedNode } from '#test/simulator/limited-node.ts'
import { withChainTimes } from '#validators/ingest/read/chain-identity.ts'

const noTerminal = !isInstalled('script', '--version') && 'the program `script` is not installed'

describe('tetrad init', () => {
  let simulator: StandaloneSimulator
  /** The simulated beacon node, with the genesis of Hoodi. */
  let hoodi: AlteringProxy
  let urls: Readonly<Record<'rpc' | 'rates' | 'beacon' | 'markets', string>>
  before(async () => {
    simulator = await startStandaloneSimulator()
    const { explorer, fx, validators, markets } = simulator.settings as Settings
    const { genesisUnix, genesisRoot } = knownChains.hoodi
    const genesis = { genesis_time: String(genesisUnix), genesis_validators_root: genesisRoot }
    hoodi = await openAlteringProxy(
      validators.networks.hoodi.beacon.urls[0] ?? '',
      jsonAt(/\/beacon\/genesis$/, (data: object) => ({ ...data, ...genesis })),
    )
    urls = {
      rpc: explorer.chains[0]?.rpc[0]?.url ?? '',
      rates: fx.sources[0]?.url ?? '',
      beacon: hoodi.url,
      markets: `${markets.feeds[0]?.url}?style=wrapped`,
    }
  })
  after(async () => {
    await hoodi[Symbol.asyncDispose]()
    await simulator[Symbol.asyncDispose]()
  })

  test('tests each URL and writes a valid file with what the sources report', async () => {
    await using home = await openFolder()
    const flags = Object.entries(urls).flatMap(([name, url]) => [`--${name}`, url])
    const { code, stdout, stderr } = await runCommand(['init', ...flags], { cwd: home.dir })
    assert.deepEqual([code, stdout], [0, 'Written: tetrad.yaml\n'], stderr)
    for (const name of ['node of chain 1: reachable', 'rates main: returned', 'beacon hoodi: reachable', 'feed main: '])
      assert.match(stderr, new RegExp(`^(ok {2}|WARN) {2}${name}`, 'm'))
    const { settings, configured } = await loadConfig({ folder: home.dir, env: {}, flags: [] })
    assert.equal(configured, true)
    assert.deepEqual(
      settings.explorer.chains.map(({ id, name, rpc }) => [id, name, rpc.map(({ url }) => url)]),
      [['1', 'Ethereum', [urls.rpc]]],
    )
    assert.equal(settings.fx.sources[0]?.url, urls.rates)
    assert.deepEqual(settings.validators.networks.hoodi.beacon.urls, [urls.beacon])
    assert.deepEqual([settings.markets.feeds[0]?.url, settings.markets.feeds[0]?.list], [urls.markets, 'data'])
    // The commands that it recommends need no option for the data folder.
    assert.match(stderr, /\n {2}(?:npx )?tetrad serve\n {2}(?:npx )?tetrad keys create --name me --plan enterprise\n$/)
    const key = await runCommand(['keys', 'create', '--name', 'me', '--plan', 'enterprise'], { cwd: home.dir })
    assert.equal(key.code, 0, key.stderr)
    assert.deepEqual([settings.store.dir, existsSync(join(home.dir, 'data-own/state.sqlite'))], ['data-own', true])
    const doctor = await runCommand(['config', 'check'], { cwd: home.dir })
    assert.deepEqual([doctor.code, doctor.stdout], [0, 'The configuration is valid: tetrad.yaml, and defaults.\n'])
  })

  test('the file has what was given, and nothing else', async () => {
    await using home = await openFolder()
    const words = ['init', '--rates', urls.rates, '--config', 'own.yaml', '--json']
    const { code, stdout } = await runCommand(words, { cwd: home.dir })
    assert.deepEqual([code, JSON.parse(stdout)], [0, { file: 'own.yaml', sources: ['rates'] }])
    const { settings } = await loadConfig({ folder: home.dir, file: 'own.yaml', env: {}, flags: [] })
    assert.deepEqual([settings.fx.sources[0]?.url, settings.markets.feeds.length], [urls.rates, 0])
    assert.equal((await readFile(join(home.dir, 'own.yaml'), 'utf8')).trim().split('\n').length, 5)
  })

  test('1: a source that fails its check is reported, and nothing is written', async () => {
    await using home = await openFolder()
    const words = ['init', '--rpc', 'http://127.0.0.1:9', '--rates', urls.rates]
    const failed = await runCommand(words, { cwd: home.dir })
    assert.equal(failed.code, 1)
    assert.match(
      failed.stderr,
      /^Testing 127\.0\.0\.1:9 …\nFAIL {2}node of chain 1: http:\/\/127\.0\.0\.1:9 cannot .*\n {8}→ check the URL/,
    )
    assert.match(failed.stderr, /tetrad: A check failed, so nothing is written\. --offline skips the checks\.\n$/)
    await assert.rejects(readFile(join(home.dir, 'tetrad.yaml')))
    assert.equal((await runCommand([...words, '--offline'], { cwd: home.dir })).code, 0)
  })

  describe('the network of a beacon node', () => {
    /** The simulated node with other answers. */
    const openChanged = (genesis: object, spec: object) => {
      const change = (changes: object) => (data: object) => ({ ...data, ...changes })
      const genesisAnswer = jsonAt(/\/beacon\/genesis$/, change(genesis))
      const specAnswer = jsonAt(/\/config\/spec$/, change(spec))
      const [url = ''] = (simulator.settings as Settings).validators.networks.hoodi.beacon.urls
      return openAlteringProxy(url, (response) => genesisAnswer(response) ?? specAnswer(response))
    }
    async function init(url: string, ...more: string[]) {
      await using home = await openFolder()
      const { code, stderr } = await runCommand(['init', '--beacon', url, ...more], { cwd: home.dir })
      const text = await readFile(join(home.dir, 'tetrad.yaml'), 'utf8').catch(() => '')
      return { code, stderr, name: /^ {4}([\w-]+): \{ beacon/m.exec(text)?.[1] }
    }

    test('has the name of its chain, whatever the node calls its configuration', async () => {
      const { genesisUnix, genesisRoot } = knownChains.sepolia
      const genesis = { genesis_time: String(genesisUnix), genesis_validators_root: genesisRoot }
      await using node = await openChanged(genesis, { CONFIG_NAME: 'mainnet', DEPOSIT_CHAIN_ID: '11155111' })
      const { code, name, stderr } = await init(node.url)
      assert.deepEqual([code, name], [0, 'sepolia'], stderr)
    })

    test('has the name of the configuration of the node, if its chain is not known', async () => {
      await using node = await openChanged({}, { CONFIG_NAME: 'Testnet-7' })
      assert.equal((await init(node.url)).name, 'testnet-7')
    })

    test('1: is never assumed: without a name of its own it needs --network', async () => {
      const names = ['mainnet', undefined, 'my net']
      const reasons = [
        /its CONFIG_NAME is mainnet, but its genesis is another one/,
        /has no CONFIG_NAME/,
        /cannot be a name/,
      ]
      for (const [at, CONFIG_NAME] of names.entries()) {
        await using node = await openChanged({}, { CONFIG_NAME })
        const refused = await init(node.url)
        assert.deepEqual([refused.code, refused.name], [1, undefined])
        assert.match(refused.stderr, reasons[at] ?? /never/)
        assert.match(refused.stderr, /Pass --network NAME, for example --network devnet\.\n$/)
        assert.equal((await init(node.url, '--network', 'mine')).name, 'mine')
      }
      const [offline, named] = [
        await init(urls.beacon, '--offline'),
        await init(urls.beacon, '--offline', '--network', 'a'),
      ]
      assert.deepEqual([offline.code, named.name], [1, 'a'])
    })

    test('1: a known name for another chain is refused, with what to do', async () => {
      await using node = await openChanged({}, {})
      const { code, stderr, name } = await init(node.url, '--network', 'hoodi')
      assert.deepEqual([code, name], [1, undefined])
      assert.match(
        stderr,
        /\nFAIL {2}beacon hoodi: refused: .*it is on another chain: genesisUnix is \d+, not 1742213400/,
      )
      assert.match(stderr, /another name for its chain/)
    })

    test('1: a node that does not respond is reported by its check', async () => {
      const { code, stderr } = await init('http://127.0.0.1:9')
      assert.equal(code, 1)
      assert.match(stderr, /FAIL {2}beacon devnet: .*127\.0\.0\.1:9/)
    })
  })

  for (const recording of [prysmRecording, prysmGloasRecording])
    test(`a private chain of Prysm and geth needs no more than ten lines: ${recording}`, async () => {
      const chain = new SimulatedChain({ seed: 'geth', id: '32382' })
      chain.mine(20)
      await using geth = new LimitedNode(chain)
      const rpc = await geth.listen()
      await using beacon = await openReplay({ recording, file: 'answers.ndjson' })
      await using home = await openFolder()
      const { code, stderr } = await runCommand(['init', '--rpc', rpc, '--beacon', beacon.url], { cwd: home.dir })
      assert.equal(code, 0, stderr)
      const text = await readFile(join(home.dir, 'tetrad.yaml'), 'utf8')
      assert.ok(text.trim().split('\n').length <= 10, text)
      const { settings } = await loadConfig({ folder: home.dir, env: {}, flags: [] })
      assert.deepEqual(
        settings.explorer.chains.map(({ id, rpc: nodes }) => [id, nodes[0]?.url]),
        [['32382', rpc]],
      )
      assert.deepEqual(settings.validators.networks.devnet?.beacon.urls, [beacon.url])
      // The chain is what its node says.
      await using plain = await openContext()
      const timed = networkSettings(await withChainTimes({ ...plain, settings, clock: systemClock }), 'devnet')
      const { slotSeconds, slotsPerEpoch, epochsPerHour, epochsPerDay, execution } = timed
      assert.deepEqual([slotSeconds, slotsPerEpoch, epochsPerHour, epochsPerDay], [3, 8, 150, 3600])
      assert.equal(execution.chainId, '32382')
    })

  test('1: an existing file is never overwritten', async () => {
    await using home = await openFolder()
    await writeFile(join(home.dir, 'tetrad.yaml'), 'mine')
    const { code, stderr } = await runCommand(['init', '--rates', urls.rates], { cwd: home.dir })
    assert.deepEqual(
      [code, stderr],
      [1, 'tetrad: tetrad.yaml exists. Edit it, or choose another file with --config.\n'],
    )
    assert.equal(await readFile(join(home.dir, 'tetrad.yaml'), 'utf8'), 'mine')
  })

  test('on a terminal it asks, asks again after a failed check, and skips empty answers', {
    skip: noTerminal,
  }, async () => {
    await using home = await openFolder()
    const terminal = spawn('script', ['-qfec', `'${process.execPath}' '${launcher}' init`, '/dev/null'], {
      cwd: home.dir,
      env: { ...commandEnv(), HOME: home.dir },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const answers: [question: string, answer: string][] = [
      ['for the explorer: ', 'http://127.0.0.1:9'],
      ['Use it anyway? [y/N] ', 'n'],
      ['for the explorer: ', ''],
      ['for FX: ', 'not a URL'],
      ['for FX: ', urls.rates.replace('http://', '')],
      [`Use ${urls.rates}? [Y/n] `, ''],
      ['for validators: ', ''],
      ['list of markets: ', ''],
    ]
    let output = ''
    // The answers that are left name the question that did not appear.
    const limit = setTimeout(() => terminal.kill('SIGKILL'), 60_000)
    for await (const chunk of terminal.stdout) {
      output += chunk
      const [question = '', answer = ''] = answers[0] ?? []
      if (question === '' || !output.includes(question)) continue
      output = output.slice(output.indexOf(question) + question.length)
      terminal.stdin.write(`${answer}\n`)
      answers.shift()
    }
    clearTimeout(limit)
    assert.deepEqual(answers, [], output)
    assert.match(output, /Written:/)
    const { settings } = await loadConfig({ folder: home.dir, env: {}, flags: [] })
    assert.deepEqual([settings.fx.sources[0]?.url, settings.markets.feeds.length], [urls.rates, 0])
  })

  test('1: Ctrl-C and Ctrl-D stop the questions without writing a file', { skip: noTerminal }, async () => {
    for (const character of ['\u0003', '\u0004']) {
      await using home = await openFolder()
      const terminal = spawn('script', ['-qfec', `'${process.execPath}' '${launcher}' init`, '/dev/null'], {
        cwd: home.dir,
        env: { ...commandEnv(), HOME: home.dir },
        stdio: ['pipe', 'pipe', 'inherit'],
      })
      const ended = once(terminal, 'exit')
      let output = ''
      for await (const chunk of terminal.stdout) {
        if (!output.includes('explorer: ') && String(output + chunk).includes('explorer: '))
          terminal.stdin.write(character)
        output += chunk
      }
      assert.match(output, /Stopped\. Nothing is written\./)
      assert.deepEqual(await ended, [1, null])
      await assert.rejects(readFile(join(home.dir, 'tetrad.yaml')))
    }
  })

  test('1: input that ends while a source is tested stops the questions', { skip: noTerminal }, async () => {
    await using home = await openFolder()
    const terminal = spawn('script', ['-qfec', `'${process.execPath}' '${launcher}' init`, '/dev/null'], {
      cwd: home.dir,
      env: { ...commandEnv(), HOME: home.dir },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const ended = once(terminal, 'exit')
    const limit = setTimeout(() => terminal.kill('SIGKILL'), 60_000)
    let output = ''
    for await (const chunk of terminal.stdout) {
      // Before the question, the terminal would lose the end of the input.
      if (!output.includes('explorer: ') && String(output + chunk).includes('explorer: '))
        terminal.stdin.end('http://127.0.0.1:9\n')
      output += chunk
    }
    clearTimeout(limit)
    assert.match(output, /Stopped\. Nothing is written\./)
    assert.deepEqual(await ended, [1, null])
  })

  test('a document of rates without a list is recognized, and its settings are written', async () => {
    await using home = await openFolder()
    const document = { timestamp: Math.floor(Date.now() / 1000), base: 'USD', rates: { EUR: 0.92, USD: 1 } }
    const server = createServer((_, response) => response.end(JSON.stringify(document)))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    try {
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/latest.json`
      const { code, stderr } = await runCommand(['init', '--rates', url], { cwd: home.dir })
      assert.equal(code, 0, stderr)
      assert.match(stderr, /^ok {4}rates main: returned 1 rate/m)
      const { settings } = await loadConfig({ folder: home.dir, env: {}, flags: [] })
      const { list, base, quote, rate, time } = settings.fx.sources[0]?.document ?? {}
      assert.deepEqual([list, base, quote, rate, time], ['rates', '$.base', '$key', '', '$.timestamp'])
    } finally {
      server.close()
    }
  })

  test('the doctor finds nothing wrong before the first start', async () => {
    await using home = await openFolder()
    const written = await runCommand(['init', '--rates', urls.rates], { cwd: home.dir })
    assert.equal(written.code, 0, written.stderr)
    const doctor = await runCommand(['doctor', '--json'], { cwd: home.dir })
    const { findings } = JSON.parse(doctor.stdout) as { findings: { name: string; level: string; message: string }[] }
    assert.deepEqual([doctor.code, findings.filter(({ level }) => level === 'fail')], [0, []])
    assert.match(findings.find(({ name }) => name === 'data folder')?.message ?? '', /data-own does not exist yet$/)
    // A folder that was named on the command line should exist.
    const mistyped = await runCommand(['doctor', '--offline', '--data', 'nowhere'], { cwd: home.dir })
    assert.equal(mistyped.code, 1)
    assert.match(mistyped.stdout, /^FAIL {2}data folder: .*nowhere does not exist$/m)
    assert.match(mistyped.stdout, /1 failed/)
  })

  test('1: without a terminal and without a URL there is nobody to ask', async () => {
    await using home = await openFolder()
    const { code, stderr } = await runCommand(['init'], { cwd: home.dir })
    assert.equal(code, 1)
    assert.match(stderr, /no terminal to ask on\. Pass at least one of --rpc, --rates, --beacon, --markets\.\n$/)
  })
})
