// The validators pages in a real browser with demo data.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { type Client, createClient } from '#api/client/client.ts'
import { roles } from '#simulator/validators/behaviour.ts'
import { type Browser, hideDemoKey, noBrowser, openBrowser } from '#test/browser.ts'
import { levelOf } from '../parts/rating-scale.ts'

describe('Validators page', { skip: noBrowser }, () => {
  let browser: Browser
  let client: Client
  let pools: string[] = []
  let members: number[] = []

  before(async () => {
    browser = await openBrowser()
    client = createClient({ baseUrl: browser.demo.url, key: browser.demo.key })
    pools = (await client.validators.find({})).pools.map(({ pool }) => pool)
    const { validators } = await client.validators.find({ pool: pools[0] ?? '' })
    members = validators.map(({ validatorIndex }) => validatorIndex)
    assert.ok(pools.length >= 2 && members.length >= 2, 'the demo data has pools with validators')
  })
  after(async () => {
    await browser[Symbol.asyncDispose]()
    browser.done()
  })

  const open = (path: string, options = {}) => browser.page(`/#/validators${path}`, options)
  const fits = (page: Page) => page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth)
  const plot = (page: Page, name: string | RegExp) => page.getByRole('img', { name })

  /** The value of a colour variable. */
  const colour = (page: Page, name: string) =>
    page.evaluate((variable) => {
      const sample = document.body.appendChild(document.createElement('i'))
      sample.style.color = `var(--${variable})`
      const { color } = getComputedStyle(sample)
      sample.remove()
      return color
    }, name)

  /** A day with an attestation that was late only because blocks were missing. */
  async function excusedDay() {
    for (const index of members) {
      const { results } = await client.validators.explain({ validator_index_or_pubkey: index, limit: 100 })
      const day = results.find(({ epochs }) =>
        epochs.some(({ vote }) => vote?.nextBlockMissing && vote.delay !== null && vote.delay === vote.bestDelay),
      )
      if (day) return { index, day }
    }
    throw new Error('the demo data has no attestation that was late because a block was missing')
  }

  test('links lead from the pools to a validator and to the duties of its worst day', async () => {
    const page = await open('')
    await page.getByRole('heading', { name: 'Pools' }).waitFor()
    await page.getByText('Examples: validator').waitFor()
    await browser.accessible(page)
    await page
      .getByRole('region', { name: 'Pools', exact: true })
      .getByRole('link', { name: pools[0] ?? '' })
      .click()
    await page.getByRole('heading', { name: `Validators in pool ${pools[0]}` }).waitFor()
    await page
      .getByRole('link', { name: String(members[0]), exact: true })
      .last()
      .click()
    await page.getByRole('heading', { level: 1, name: `Validator ${members[0]}` }).waitFor()
    await plot(page, /^Effectiveness in \d+ days$/).waitFor()
    await plot(page, /^Income per day/).waitFor()
    await page.getByRole('heading', { name: 'Worst days in this range' }).waitFor()
    const worst = page.locator('.worst a').first()
    for (const badge of await page.locator('.worst .badge').all()) {
      const { name } = levelOf(Number(await badge.textContent()))
      assert.equal(await badge.getAttribute('class'), `badge rating ${name}`)
      assert.equal(
        await badge.evaluate((element) => getComputedStyle(element).backgroundColor),
        await colour(page, name),
      )
    }
    const date = /\d{4}-\d\d-\d\d/.exec((await worst.textContent()) ?? '')?.[0]
    await worst.click()
    await page.getByRole('heading', { name: new RegExp(`^Duties of chain day \\d+, ${date}$`) }).waitFor()
    await page.getByRole('columnheader', { name: 'Cause' }).waitFor()
    assert.match(page.url(), /[?&]day=\d+/)
    await browser.accessible(page)
    await page.getByRole('link', { name: 'Close' }).click()
    await page.getByRole('columnheader', { name: 'Cause' }).waitFor({ state: 'detached' })
    await browser.leave(page)
  })

  test('a validator page starts with a verdict from the stored duties, and ends with who the validator is', async () => {
    const { index } = await excusedDay()
    const { results } = await client.validators.effectiveness({ validator_index_or_pubkey: index, limit: 100 })
    const bad = results.filter(({ validatorEffectiveness }) => (validatorEffectiveness ?? 100) < 97).length
    const words = ['No', 'One', 'Two', 'Three', 'Four', 'Five', 'Six', 'Seven', 'Eight', 'Nine', 'Ten']
    const page = await open(`/${index}?last=all`)
    const verdict = page.getByRole('region', { name: 'Verdict' })
    await verdict.getByText(new RegExp(`^${words[bad] ?? bad} bad days?\\b`)).waitFor()
    const isExcused = verdict.locator('.worst li').filter({ hasText: /attestations?: (not|partly) its fault$/ })
    await isExcused.first().waitFor()
    const headings = await page.getByRole('heading', { level: 2 }).allTextContents()
    assert.ok(headings.indexOf('Income') < headings.indexOf('Operator and lifecycle'))
    assert.equal(await page.locator('main section').first().getAttribute('aria-label'), 'Verdict')
    const { validatorPubkey } = await client.validators.metadata({ validator_index_or_pubkey: index })
    await page.getByText(`${validatorPubkey.slice(0, 8)}…${validatorPubkey.slice(-6)}`).waitFor()
    assert.equal(await page.getByText(validatorPubkey).count(), 0)
    const ruled = await open('/82?network=mainnet')
    const identity = ruled.getByRole('region', { name: 'Operator and lifecycle' })
    await identity.getByText('Tidewater Staking').waitFor()
    await identity
      .getByText(/^since day \d+, by a rule of configuration \(indices 80-85\)$/)
      .first()
      .waitFor()
    await browser.leave(ruled)
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.getByRole('button', { name: 'Copy public key' }).click()
    await page.getByText('Copied').waitFor()
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), validatorPubkey)
    await browser.accessible(page)
    await browser.leave(page)
  })

  test('a slashed validator says so first, and its pool is not among the best', async () => {
    const index = roles.slashed.validator
    const { total } = await client.validators.income({ indices: [index] })
    const lost = (Number(total.slashings) / -1e9).toFixed(3)
    assert.ok(Number(lost) > 1, 'the later penalty counts')
    const { entities } = await client.validators.entities({ sortOrder: 'desc', limit: 20 })
    const spared = entities.filter(({ slashesReceived }) => Number(slashesReceived) === 0).map(({ name }) => name)
    assert.ok(spared.length < entities.length)
    for (const width of [1440, 768, 390]) {
      const page = await browser.page('/', { viewport: { width, height: 800 } })
      await page.locator('.ranking a').first().waitFor()
      assert.deepEqual(await page.locator('.ranking a').allTextContents(), spared.slice(0, 3))
      await page.goto(new URL(`/#/validators/${index}`, browser.demo.url).href)
      await page.getByText(new RegExp(`^Slashed on \\d+ November 2026\\. Lost ${lost} ETH\\. `)).waitFor()
      assert.match((await page.getByRole('heading', { level: 1 }).textContent()) ?? '', /^Validator 58 slashed/)
      await page.getByRole('columnheader', { name: 'Slashing' }).waitFor({ state: 'attached' })
      assert.ok(await fits(page))
      const income = page.getByRole('region', { name: 'Income of each day' })
      assert.ok(await income.evaluate(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth), `${width} px`)
      await browser.accessible(page)
      await browser.leave(page)
    }
  })

  test('the columns of the income of a validator add up to the change of its balance', async () => {
    const [index = 0] = members
    const { days, total } = await client.validators.income({ indices: [index] })
    const page = await open(`/${index}?last=all`)
    const card = page.getByRole('region', { name: 'Income', exact: true })
    await card
      .getByRole('row', { name: days.at(-1)?.date ?? '' })
      .first()
      .waitFor()
    const titles = await card.getByRole('region', { name: 'Income of each day' }).locator('thead th').allTextContents()
    for (const row of await card.getByRole('region', { name: 'Income of each day' }).locator('tbody tr').all()) {
      const cells = await row.locator('th, td').allTextContents()
      const gwei = (title: string) =>
        Math.round(Number.parseFloat(cells[titles.indexOf(title)]?.replace('−', '-') ?? '0') * 1e9)
      const sum = (...names: readonly string[]) =>
        names.reduce((all, name) => all + (titles.includes(name) ? gwei(name) : 0), 0)
      const paid = sum('Attestations', 'Sync committee', 'Blocks', 'Penalties', 'Slashing', 'Paid on another day')
      assert.equal(paid, gwei('Earnings'), row.toString())
      assert.equal(
        paid + sum('Deposits', 'Consolidations') - sum('Withdrawals'),
        gwei('Balance change'),
        row.toString(),
      )
      if (cells[0] === 'All days') assert.equal(gwei('Balance change'), Number(total.balanceChange))
    }
    await browser.accessible(page)
    await browser.leave(page)
  })

  test('My validators lists the watched ones worst first, and keeps the list in the browser', async () => {
    const [first = 0, second = 0, third = 0] = members
    const page = await open('/mine')
    await page.getByText('You watch no validators on mainnet yet.').waitFor()
    await browser.accessible(page)
    await page.getByLabel(/^Indices to watch/).fill(`${second}, ${first}`)
    await page.getByRole('button', { name: 'Add' }).click()
    const table = page.getByRole('region', { name: 'Watched validators' })
    const rows = table.locator('tbody tr')
    await rows.nth(1).waitFor()
    const scores = (await rows.locator('.rating').allTextContents()).map(Number)
    assert.deepEqual(
      scores,
      scores.toSorted((a, b) => a - b),
    )
    for (const title of ['Uptime difference', 'Balance change', 'Missed attestations', 'Missed blocks'])
      await table.getByRole('columnheader', { name: title }).waitFor()
    assert.equal(await table.getByText('Open alerts').count(), 0)
    assert.equal(await page.getByRole('button', { name: 'Send a test alert' }).count(), 0, 'visitors have no right to')
    await browser.accessible(page)
    await page.goto(new URL(`/#/validators/${third}`, browser.demo.url).href)
    await page.getByRole('button', { name: 'Watch', exact: true }).click()
    await page.getByRole('navigation').getByRole('link', { name: 'My validators' }).click()
    await rows.nth(2).waitFor()
    await page.reload()
    await table.getByRole('button', { name: `Remove ${second}`, exact: true }).click()
    await rows.nth(2).waitFor({ state: 'detached' })
    assert.equal(await rows.count(), 2)
    await page.waitForFunction(() => document.title === 'My validators · Validators · Tetrad')
    await browser.leave(page)
  })

  test('current duties are shown and marked if the server knows them', async () => {
    const [index] = members
    const slotTimes = { timestamp: '2026-11-15T12:00:00.000Z', dueTimestamp: '2026-11-15T12:00:03.000Z' }
    const time = { committee: 2, ...slotTimes }
    const known = {
      ...{ validatorIndex: index, headSlot: 402, headPayload: 'empty', epoch: 100, inSyncCommittee: true },
      attestations: [
        { epoch: 99, slot: 397, state: 'missing', delay: null, ...time },
        { epoch: 100, slot: 400, state: 'included', delay: 2, ...time },
        { epoch: 101, slot: 405, state: 'due', delay: null, ...time },
      ],
      proposals: [{ slot: 406, timestamp: '2026-11-15T13:30:00.000Z' }],
      payloadVotes: [
        { epoch: 99, slot: 398, state: 'included', payloadSeen: true, blobsSeen: true, ...slotTimes },
        { epoch: 100, slot: 401, state: 'impossible', payloadSeen: null, blobsSeen: null, ...slotTimes },
      ],
      blocks: [
        { slot: 396, payload: 'empty', builder: 7, valueGwei: 1000 },
        { slot: 402, payload: 'unknown', builder: null, valueGwei: 0 },
      ],
    }
    const page = await open(`/${index}`, {
      before: (newPage: Page) =>
        newPage.route(`**/v1/eth/validators/${index}/duties*`, (route) => route.fulfill({ json: known })),
    })
    const card = page.getByRole('region', { name: 'Current duties' })
    await card.getByText('not final').waitFor()
    await card.getByText('slot 406, 2026-11-15 13:30:00 UTC').waitFor()
    await card.getByText('not there, as the node sees it; the next block decides').waitFor()
    const rowsOf = async (name: RegExp) =>
      (await card.getByRole('region', { name }).getByRole('row').allTextContents()).slice(1)
    assert.deepEqual(
      (await rowsOf(/^Attestations/)).map((row) => /UTC3\.0 s2(.*)$/.exec(row)?.[1]),
      ['missed so far', 'attested after 2 slots', 'not yet'],
    )
    assert.deepEqual(
      (await rowsOf(/^Votes in payload committees/)).map((row) => /UTC3\.0 s(.*)$/.exec(row)?.[1]),
      ['payload seenon the chain', '–cannot be on the chain'],
    )
    await card.getByText('Votes of payload committees are neither rewarded nor penalized.').waitFor()
    assert.deepEqual(await rowsOf(/^Proposed blocks/), [
      '396builder 7not part of the chain',
      '402the validatornot decided yet',
    ])
    await browser.accessible(page)
    await page.unrouteAll()
    await page.reload()
    await plot(page, /^Effectiveness in \d+ days$/).waitFor()
    assert.equal(await card.count(), 0, 'the demo does not know them')
    await browser.leave(page)
  })

  test('an attestation that was late because a block was missing is not the validator’s fault', async () => {
    const { index, day } = await excusedDay()
    const page = await open(`/${index}?network=mainnet&day=${day.day}`)
    await page.getByText(/(None of this is|are not) the validator’s fault/).waitFor()
    const excused = day.epochs.filter(({ vote }) => vote?.delay && vote.delay > 1 && vote.delay === vote.bestDelay)
    const rows = page.getByRole('row').filter({ hasText: 'not the validator: there was no earlier block' })
    await rows.first().waitFor()
    assert.equal(await rows.count(), excused.length)
    assert.equal(
      await rows.first().getByRole('cell').nth(2).textContent(),
      String(excused[0]?.vote?.slot),
      'the slot of the attestation',
    )
    await plot(page, new RegExp(`^Epochs ${day.startEpoch} to ${day.endEpoch}: .*late`)).waitFor()
    await browser.leave(page)
  })

  test('a payload that did not become part of the chain names who is at fault', async () => {
    const incidentOf = async (index: number) => {
      const page = await open(`/${index}?network=hoodi&day=2`)
      const rowsOf = async (name: string) => {
        const table = page.getByRole('region', { name })
        await table.waitFor()
        return table
          .getByRole('row')
          .filter({ hasText: /payload|part of the chain/ })
          .allTextContents()
      }
      await page.getByRole('heading', { name: 'Payloads of its blocks' }).waitFor()
      const [incident] = (await rowsOf('Incidents by epoch')).filter((row) => row.includes('payload'))
      const missing = (await rowsOf('Payloads of its blocks')).filter((row) => row.includes('not part'))
      await browser.leave(page)
      return [incident?.replace(/^.*UTC/, ''), ...missing]
    }
    assert.deepEqual(await incidentOf(5), [
      '154The payload that the validator built did not become part of the chainthe validator, as far as known',
      '154the validatornot part of the chain––',
    ])
    assert.deepEqual(await incidentOf(9), [
      '157Builder did not deliver the payload of the proposed block in timethe builder, not the validator',
      '157builder 0not part of the chain0.044000000 ETHyes',
    ])
  })

  test('clicking a point opens its day or its days, and the address contains every choice', async () => {
    const page = await open(`/${members[0]}`)
    const days = plot(page, /^Effectiveness in \d+ days$/)
    await days.locator('.u-over').click()
    await page.getByRole('heading', { name: /^Duties of chain day \d+/ }).waitFor()
    const form = page.getByRole('region', { name: 'Effectiveness over time' }).getByText(/: change$/)
    await form.click()
    await page.getByLabel('Granularity').selectOption('week')
    await page.getByLabel('Day type').selectOption('utc')
    await page.getByRole('button', { name: 'Uptime and correctness' }).click()
    await plot(page, /^Uptime and correctness in \d+ weeks$/).waitFor()
    assert.match(page.url(), /granularity=week&days=utc&plot=votes/)
    await page.reload()
    await plot(page, /^Uptime and correctness in \d+ weeks$/)
      .locator('.u-over')
      .click()
    await plot(page, /^Uptime and correctness in [1-7] days$/).waitFor()
    assert.match(page.url(), /days=utc&from=\d{4}-\d\d-\d\d&to=\d{4}-\d\d-\d\d/)
    await page.goBack()
    await plot(page, /^Uptime and correctness in \d+ weeks$/).waitFor()
    await browser.leave(page)
  })

  test('the plot is above the fold, a zoom is part of the address, and a day of the address is shown first', async () => {
    const page = await open(`/${roles.late.validator}?network=mainnet`, { viewport: { width: 1440, height: 900 } })
    const days = plot(page, /^Effectiveness in \d+ days$/)
    const over = days.locator('.u-over')
    await over.waitFor()
    const box = (await over.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 }
    assert.ok(box.y + box.height <= 900, `the plot ends at ${box.y + box.height}`)
    await page.mouse.move(box.x + box.width * 0.3, box.y + 50)
    await page.mouse.down()
    await page.mouse.move(box.x + box.width * 0.6, box.y + 50, { steps: 5 })
    await page.mouse.up()
    await page.waitForURL(/[?&]from=\d{4}-\d\d-\d\d&to=\d{4}-\d\d-\d\d/)
    await plot(page, /^Effectiveness in 1?\d days$/).waitFor()
    await page.reload()
    await plot(page, /^Effectiveness in 1?\d days$/).waitFor()
    for (const width of [1440, 768, 390]) {
      await page.setViewportSize({ width, height: 900 })
      await page.goto(
        new URL(`/#/validators/${roles.late.validator}?network=mainnet&day=${roles.late.fromDay}`, browser.demo.url)
          .href,
      )
      const duties = page.getByRole('region', { name: /^Duties of chain day 16/ })
      await duties.getByRole('columnheader', { name: 'Cause' }).waitFor({ state: 'attached' })
      await duties.getByText('late attestation').first().waitFor()
      const summary = await duties.getByText('late attestation').first().boundingBox()
      assert.ok(summary && summary.y + summary.height <= 900, `${width} px`)
      assert.equal(await page.evaluate(() => window.scrollY), 0)
      assert.ok(await fits(page))
      await browser.accessible(page)
    }
    await page.goto(new URL('/#/validators', browser.demo.url).href)
    await page.getByRole('region', { name: 'Pools: table' }).locator('.sparkline').first().waitFor()
    await browser.leave(page)
  })

  test('the page has a heading while it loads, and when it needs a key', async () => {
    const hold = async (opened: Page) => void (await opened.route('**/v0/eth/validators/**', () => {}))
    const loading = await open('/12?network=mainnet', { before: hold })
    await loading.getByRole('heading', { level: 1, name: 'Validator 12' }).waitFor()
    await loading.getByText('Loading…').waitFor()
    await browser.accessible(loading)
    await browser.leave(loading)
    const withoutKey = await open('/12?network=mainnet', { key: '', before: hideDemoKey })
    await withoutKey.getByText('This needs an API key, and none is set.').waitFor()
    await withoutKey.getByRole('heading', { level: 1, name: 'Validator 12' }).waitFor()
    await browser.leave(withoutKey)
  })

  test('amounts equal those of the API to the gwei', async () => {
    const { data } = await client.validators.aggregateEffectiveness({
      indices: [members[0] ?? 0],
      granularity: 'all',
      groupBy: 'timeWindow',
    })
    const page = await open(`/${members[0]}?last=all`)
    const gwei = BigInt(data[0]?.earnings ?? 0)
    const eth = `${gwei / 10n ** 9n}.${String(gwei % 10n ** 9n).padStart(9, '0')}`
    await page.getByText(eth, { exact: true }).first().waitFor()
    await browser.leave(page)
  })

  test('the deposit address shows its first funder and links to the explorer', async () => {
    const { depositAddresses } = await client.validators.metadata({ validator_index_or_pubkey: members[0] ?? 0 })
    const deposit = depositAddresses?.[0]
    assert.ok(deposit !== undefined, 'the demo data has a deposit address')
    const { result } = await client.explorer.trail({ address: deposit, depth: 1 })
    const hop = result.hops[0]
    const page = await open(`/${members[0]}`)
    const addresses = page.getByRole('region', { name: 'Deposit and withdrawal addresses' })
    await addresses.getByText('Deposit addresses').waitFor()
    assert.equal(await addresses.getByRole('link').first().getAttribute('href'), `/explorer/1/${deposit}`)
    if (hop?.label) await addresses.getByText(hop.label.name).first().waitFor()
    else await addresses.getByText('unknown').first().waitFor()
    await browser.leave(page)
  })

  test('validators are found by key, operator and address, and by a part of a name', async () => {
    const [validator] = (await client.validators.find({ pool: pools[0] ?? '', limit: 1 })).validators
    assert.ok(validator)
    const page = await open('')
    const find = async (text: string) => {
      await page.getByRole('searchbox').fill(text)
      await page.getByRole('button', { name: 'Search' }).click()
    }
    const isListed = () =>
      page
        .getByRole('checkbox', { name: `Compare ${validator.validatorIndex}`, exact: true })
        .first()
        .waitFor()
    await find(validator.validatorPubkey.slice(0, 12))
    await page.getByRole('heading', { name: /^Public keys starting with/ }).waitFor()
    await isListed()
    await find('no such name')
    await page.getByText('No pool or operator on mainnet has “no such name” in its name.').waitFor()
    await find(validator.nodeOperators[0] ?? '')
    await page.getByRole('heading', { name: /^Validators of operator/ }).waitFor()
    await isListed()
    await find(validator.withdrawalAddress ?? '')
    await page.getByRole('heading', { name: /^Validators with withdrawal address/ }).waitFor()
    await isListed()
    await find((pools[1] ?? '').toLowerCase())
    await page.getByRole('heading', { name: 'Pools with a matching name' }).waitFor()
    await page
      .getByRole('region', { name: 'Pools with a matching name', exact: true })
      .getByRole('link', { name: pools[1] ?? '' })
      .click()
    await page.getByRole('heading', { name: `Validators in pool ${pools[1]}` }).waitFor()
    await find(String(validator.validatorIndex))
    await page.getByRole('heading', { level: 1, name: `Validator ${validator.validatorIndex}` }).waitFor()
    await browser.leave(page)
  })

  test('selected validators are compared; one can be added and removed', async () => {
    const page = await open(`?network=mainnet&q=${encodeURIComponent(pools[0] ?? '')}`)
    const [first, second, third] = members
    await page.getByRole('button', { name: 'Index' }).click()
    await page.getByRole('checkbox', { name: `Compare ${first}`, exact: true }).check()
    await page.getByRole('checkbox', { name: `Compare ${second}`, exact: true }).check()
    await page.getByRole('button', { name: 'Compare 2 selected' }).click()
    await plot(page, `Effectiveness per day: ${first}, ${second}`).waitFor()
    const table = page.getByRole('region', { name: 'Totals of the range' })
    await table.getByRole('rowheader', { name: String(second), exact: true }).waitFor()
    await browser.accessible(page)
    await page.getByLabel('Index or public key').fill(String(third))
    await page.getByRole('button', { name: 'Add' }).click()
    await plot(page, `Effectiveness per day: ${first}, ${second}, ${third}`).waitFor()
    await page.getByRole('button', { name: `Remove ${first}`, exact: true }).click()
    await plot(page, `Effectiveness per day: ${second}, ${third}`).waitFor()
    await page.getByRole('button', { name: 'Inclusion delay' }).click()
    await plot(page, `Inclusion delay per day: ${second}, ${third}`).waitFor()
    assert.match(page.url(), new RegExp(`of=${second}%2C${third}`))
    await browser.leave(page)
  })

  test('pools and operators are listed with their ratings, worst first, and can be sorted', async () => {
    const page = await open('')
    const shownNames = (list: Locator) => list.locator('tbody tr a').allTextContents()
    const rankedNames = async (input: Parameters<typeof client.validators.entities>[0]) =>
      (await client.validators.entities(input)).entities.map(({ name }) => name)
    const table = page.getByRole('region', { name: 'Pools: table' })
    await table.getByRole('img').first().waitFor()
    assert.deepEqual(await shownNames(table), await rankedNames({ limit: 50 }))
    assert.equal(
      await table.getByRole('columnheader', { name: 'Effectiveness ↑' }).getAttribute('aria-sort'),
      'ascending',
    )
    const worst = (await client.validators.entities({ limit: 1 })).entities[0]
    const cells = await table.getByRole('row').nth(1).getByRole('cell').allTextContents()
    assert.equal(cells[1], worst?.validatorEffectiveness?.toFixed(2))
    assert.equal(cells[3], worst?.networkPercentile?.toFixed(0))
    await table.getByRole('button', { name: 'Earnings per day' }).click()
    await table.getByRole('columnheader', { name: 'Earnings per day ↑' }).waitFor()
    await table.getByRole('button', { name: 'Earnings per day' }).click()
    await table.getByRole('columnheader', { name: 'Earnings per day ↓' }).waitFor()
    const byEarnings = await rankedNames({ limit: 50, sort: 'earningsPerDay', sortOrder: 'desc' })
    await table
      .getByRole('row')
      .nth(1)
      .getByText(byEarnings[0] ?? '')
      .waitFor()
    assert.deepEqual(await shownNames(table), byEarnings)
    await page.getByRole('button', { name: 'Operators' }).click()
    const operators = page.getByRole('region', { name: 'Operators: table' })
    await operators.getByRole('row').nth(1).waitFor()
    assert.deepEqual(await shownNames(operators), await rankedNames({ kind: 'operator', limit: 50 }))
    await browser.accessible(page)
    await browser.leave(page)
  })

  test('the members of a pool are listed with their figures, worst first', async () => {
    const { startDay, endDay } = await client.validators.entities({ limit: 1 })
    const { data } = await client.validators.aggregateEffectiveness({
      ...{ indices: members, from: String(endDay), to: String(startDay), granularity: 'all', size: 1000 },
    })
    const worst = data.toSorted((a, b) => (a.validatorEffectiveness ?? 101) - (b.validatorEffectiveness ?? 101))[0]
    const page = await open(`?network=mainnet&q=${encodeURIComponent(pools[0] ?? '')}`)
    const table = page.getByRole('region', { name: `Validators in pool ${pools[0]}: table` })
    await table.getByRole('row').nth(1).waitFor()
    const cells = await table.getByRole('row').nth(1).getByRole('cell').allTextContents()
    assert.equal(cells[0]?.trim(), String(worst?.validatorIndex))
    assert.equal(cells[4], worst?.validatorEffectiveness?.toLocaleString('en', { maximumFractionDigits: 2 }))
    await table.locator('.sparkline path[d^=M]').first().waitFor()
    await table.getByRole('button', { name: 'Index' }).click()
    await table.getByRole('columnheader', { name: 'Index ↑' }).waitFor()
    assert.equal(await table.getByRole('row').nth(1).getByRole('link').textContent(), String(members[0]))
    await browser.accessible(page)
    await browser.leave(page)
  })

  test('a validator is compared with its network, and its calendar opens the duties of a day', async () => {
    const page = await open(`/${members[0]}`)
    const comparison = page.getByRole('region', { name: 'Compared with the network' })
    await comparison.getByText('percent of the network’s validators are less effective; 50 is average').waitFor()
    await comparison.locator('dd.big').first().filter({ hasText: /\d/ }).waitFor()
    assert.match((await comparison.locator('dd.big').first().textContent()) ?? '', /^\d{1,3}$/)
    const calendar = plot(page, /^Calendar of \d+ days/)
    const square = calendar.locator('rect[data-day]').nth(8)
    const [day, title] = [await square.getAttribute('data-day'), await square.locator('title').textContent()]
    await square.click()
    await page.getByRole('heading', { name: `Duties of UTC day ${day}, ${title?.slice(0, 10)}` }).waitFor()
    await browser.leave(page)
  })

  test('pools and operators are compared with the totals of all their validators', async () => {
    const page = await open('')
    for (const pool of pools.slice(0, 2)) await page.getByRole('checkbox', { name: `Compare ${pool}` }).check()
    await page.getByRole('button', { name: 'Compare 2 pools' }).click()
    await plot(page, `Effectiveness per day: ${pools[0]}, ${pools[1]}`).waitFor()
    const { data } = await client.validators.operatorEffectiveness({ operator_id: pools[0] ?? '', granularity: 'all' })
    const row = page.getByRole('region', { name: 'Totals of the range' }).getByRole('row', { name: pools[0] ?? '' })
    await page.getByText(/: change$/).click()
    await page.getByRole('combobox', { name: 'Range' }).selectOption('all')
    await row
      .getByText(data[0]?.avgValidatorEffectiveness?.toFixed(2) ?? '', { exact: true })
      .first()
      .waitFor()
    await page.setViewportSize({ width: 1100, height: 800 })
    const table = page.getByRole('region', { name: 'Totals of the range' })
    assert.ok(
      await table.evaluate(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth),
      'no column is cut off',
    )
    await page.getByLabel('Third pool').selectOption(pools[2] ?? '')
    await plot(page, `Effectiveness per day: ${pools.slice(0, 3).join(', ')}`).waitFor()
    await table
      .getByRole('row', { name: pools[2] ?? '' })
      .getByRole('cell')
      .nth(8)
      .waitFor()
    await browser.accessible(page)
    await page.getByLabel('First pool').selectOption('choose…')
    await plot(page, `Effectiveness per day: ${pools.slice(1, 3).join(', ')}`).waitFor()
    await browser.leave(page)

    const operators = await open('')
    await operators.getByRole('button', { name: 'Operators' }).click()
    const boxes = operators.getByRole('region', { name: 'Operators: table' }).getByRole('checkbox')
    for (const at of [0, 1, 2, 3]) await boxes.nth(at).check()
    assert.ok((await boxes.count()) < 5 || (await boxes.nth(4).isDisabled()))
    await operators.getByRole('button', { name: 'Compare 4 operators' }).click()
    await operators.getByRole('heading', { level: 1, name: 'Compare operators' }).waitFor()
    await operators.getByRole('region', { name: 'Totals of the range' }).getByRole('row').nth(4).waitFor()
    await operators.getByRole('img', { name: /^Effectiveness per day: .+, .+, .+, .+/ }).waitFor()
    await browser.leave(operators)
  })

  test('an unknown validator and a network without pools show what to do next', async () => {
    const page = await open('/999999999')
    await page.getByRole('heading', { name: 'Validator 999999999 not found' }).waitFor()
    await page.getByRole('link', { name: 'search for another validator' }).click()
    await page.getByRole('heading', { name: 'Pools' }).waitFor()
    await page.goto(new URL('/#/validators?network=hoodi', browser.demo.url).href)
    await page.getByText('No pools are known on hoodi.').waitFor()
    await browser.leave(page)
  })

  test('pages fit a narrow screen and are accessible in the dark theme', async () => {
    const { index, day } = await excusedDay()
    const narrow = { viewport: { width: 360, height: 800 }, colorScheme: 'dark' }
    const page = await open(`/${index}?day=${day.day}`, narrow)
    await plot(page, /^Effectiveness in/).waitFor()
    await page.getByRole('columnheader', { name: 'Cause' }).waitFor()
    await page.getByText('Balance change', { exact: true }).waitFor()
    assert.ok(await fits(page))
    // Each row is a list with the names of its values, so nothing is cut off.
    const isCut = (name: string) =>
      page.getByRole('region', { name }).evaluate((region) => region.scrollWidth > region.clientWidth)
    assert.equal(await isCut('Incidents by epoch'), false)
    await browser.accessibleStyle(page)
    await page.goto(new URL(`/#/validators/compare?of=${members.slice(0, 10).join()}`, browser.demo.url).href)
    await plot(page, /^Effectiveness per day/).waitFor()
    assert.ok(await fits(page))
    assert.equal(await isCut('Totals of the range'), false)
    await browser.accessibleStyle(page)
    await browser.leave(page)
  })
})
