// The explorer page in a real browser with demo data.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { type Browser, hideDemoKey, noBrowser, openBrowser } from '#test/browser.ts'

describe('Explorer page', { skip: noBrowser }, () => {
  let browser: Browser
  let address = ''
  before(async () => {
    browser = await openBrowser()
    address = browser.demo.samples.address
  })
  after(async () => {
    await browser[Symbol.asyncDispose]()
    browser.done()
  })

  const open = (path: string, options = {}) => browser.page(`/#/explorer${path}`, options)
  const diagram = (page: Awaited<ReturnType<typeof open>>) => page.getByRole('group', { name: /^Funding trail of/ })

  test('an address shows its first funding and its trail, and every address of the trail links to its page', async () => {
    const page = await open('')
    await page
      .getByRole('searchbox', { name: 'Address, transaction or name' })
      .fill(` ${address.toUpperCase().replace('0X', '0x')}`)
    await page.getByRole('button', { name: 'Search' }).click()
    await page.getByText('All finalized blocks of the chain have been read. As of block').waitFor()
    const funder = (await page.locator('dl.facts a').first().textContent()) ?? ''
    const nodes = diagram(page).getByRole('link')
    await nodes.nth(3).waitFor()
    assert.equal(await nodes.count(), 4)
    assert.match((await nodes.nth(3).textContent()) ?? '', /3 hops back · labelled.+ Exchange/)
    await page.getByText('The trail leads to a labelled address').waitFor()

    await page.getByText('Show as a table').click()
    await page
      .getByRole('row', { name: /^2 / })
      .getByText(/^0\.\d{18} ETH$/)
      .waitFor()
    await browser.accessible(page)

    // The nodes are links, so the keyboard works too.
    await nodes.nth(1).focus()
    await page.keyboard.press('Enter')
    await page.waitForURL((url) => url.pathname === `/explorer/1/${funder}`)
    await nodes.nth(3).waitFor({ state: 'detached' })
    await nodes.nth(2).waitFor()
    await page.goBack()
    await nodes.nth(3).waitFor()
    await browser.leave(page)
  })

  test('a chain with labelled addresses but without entities reports how many addresses have a label', async () => {
    const page = await open('/1', {
      before: async (target: Page) => {
        await target.route('**/console/explorer/labels/**', (route) =>
          route.fulfill({ json: { chainid: '1', addresses: 100_000, hasMoreAddresses: true } }),
        )
        await target.route(/action=getlabelmasterlist/, (route) =>
          route.fulfill({ json: { status: '0', message: 'No data found', result: [] } }),
        )
      },
    })
    await page.getByText('More than 100,000 addresses have a label, but none belongs to an entity yet.').waitFor()
    assert.equal(await page.getByText('No labels on this chain').count(), 0)
    await browser.leave(page)
    // Without an answer replaced, the list has entities, and the addresses are counted too.
    const other = await open('/1')
    await other.getByText(/^[\d,]+ addresses have a label of their own/).waitFor()
    await other.getByText(/^Page 1 of \d+, .* entities$/).waitFor()
    await browser.accessible(other)
    await browser.leave(other)
  })

  test('a trail that was cut off can be continued, and a hundred hops fit a narrow screen', async () => {
    const page = await open(`/1/${address}?depth=2`)
    await page.getByText('It was cut at the requested number of hops.').waitFor()
    assert.equal(await diagram(page).getByRole('link').count(), 3)
    await page.getByRole('link', { name: 'Show up to 4 hops' }).click()
    await page.getByText('The trail leads to a labelled address').waitFor()
    await browser.leave(page)

    const long = await open(`/1/${address}?depth=100`, {
      viewport: { width: 360, height: 800 },
      before: async (newPage: typeof page) =>
        newPage.route('**/v2/trail*', (route) => route.fulfill({ json: longTrail(100) })),
    })
    const nodes = diagram(long).getByRole('link')
    await nodes.nth(100).waitFor()
    assert.equal(await nodes.count(), 101)
    assert.ok(await fits(long))
    const continueLink = long.getByRole('link', { name: /^Continue from 0x/ })
    assert.ok((await continueLink.getAttribute('href'))?.endsWith(nth(100)))
    await browser.leave(long)
  })

  test('every failure shows a plain message and no empty trail', async () => {
    const never = `0x${'0123456789'.repeat(4)}`
    const cases: readonly (readonly [path: string, text: RegExp])[] = [
      [`/1/${never}`, /^Not funded: this address has not received a transfer/],
      [`/137/${never}`, /Blocks 80 to 139 of chain 137 have not been read yet/],
      [`/5/${never}`, /This server does not support chain 5\. Supported: Ethereum \(1\), Polygon \(137\)\./],
      ['/1/0x12', /0x12 is not an address/],
    ]
    for (const [path, text] of cases) {
      const page = await open(path)
      await page.getByText(text).waitFor()

      await page.getByRole('heading', { name: 'Funding trail' }).waitFor({ state: 'detached' })
      await browser.leave(page)
    }
    const withoutKey = await open(`/1/${address}`, { key: '', before: hideDemoKey })
    await withoutKey
      .getByText(/^This needs an API key, and none is set\. Set a key with the key button/)
      .first()
      .waitFor()
    await browser.leave(withoutKey)
  })

  test('the label list can be paged, filtered and downloaded', async () => {
    const page = await open('')
    await page.getByText(/^Page 1 of 6, 120 entities$/).waitFor()
    await page.getByRole('button', { name: 'Next', exact: true }).click()
    await page.getByText(/^Page 2 of 6/).waitFor()
    await page.getByLabel('Filter').fill('HARBOUR mining')
    await page.getByText(/^Page 1 of 1, 1 of 120 entities$/).waitFor()
    assert.match(page.url(), /\?filter=HARBOUR\+mining$/)
    await browser.accessible(page)
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'CSV' }).click(),
    ])
    assert.equal(download.suggestedFilename(), 'labelmasterlist_latest.csv')
    await page.getByLabel('Chain').selectOption('137')
    await page.getByText(/^Page 1 of 1, 20 entities$/).waitFor()
    await browser.leave(page)

    const standardPlan = await open('', { key: await browser.demo.keyFor('standard') })
    await standardPlan.getByText('This endpoint needs the enterprise plan').waitFor()
    await browser.leave(standardPlan)
  })

  test('a name finds its addresses, and so does the start of an address', async () => {
    const page = await open('')
    await page
      .getByText('Examples:')
      .getByRole('link', { name: /Exchange/ })
      .first()
      .waitFor()
    await page.getByRole('searchbox', { name: 'Address, transaction or name' }).fill('COBALT exch')
    await page.keyboard.press('Enter')
    const entity = page
      .getByRole('row', { name: /^Cobalt Exchange entity/ })
      .getByRole('link', { name: 'Cobalt Exchange' })
    assert.equal(await entity.first().getAttribute('href'), '/explorer/entity/cobalt-exchange')
    assert.match(page.url(), /\/explorer\/1\?q=COBALT\+exch$/)
    await browser.accessible(page)
    const walletLink = page
      .getByRole('row', { name: /^Cobalt Exchange: hot wallet/ })
      .first()
      .getByRole('link')
      .last()
    const wallet = (await walletLink.textContent()) ?? ''
    await walletLink.click()
    await page.getByText(/^Label: Cobalt Exchange: hot wallet/).waitFor()

    await page.getByRole('searchbox', { name: 'Address, transaction or name' }).fill(wallet.slice(0, 12))
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: wallet }).waitFor()
    await page.getByRole('searchbox', { name: 'Address, transaction or name' }).fill('no such name')
    await page.keyboard.press('Enter')
    await page.getByText('No matches. Search matches the start of each word.').waitFor()
    await browser.leave(page)
  })

  test('a trail leads to the entity that it ends at and to its transactions; search finds both', async () => {
    const page = await open(`/1/${address}`)
    const trail = page.getByRole('region', { name: 'Funding trail', exact: true })
    await trail.getByText('Show as a table').click()
    const hops = await trail.getByRole('row', { name: /^\d/ }).count()
    const funder = trail.getByRole('row', { name: /^1 / }).getByRole('link')
    const funderHref = (await funder.first().getAttribute('href')) ?? ''
    await funder.last().click()
    await page.getByRole('heading', { level: 1, name: /^Transaction 0x/ }).waitFor()
    const [hash = ''] = /0x[0-9a-f]{64}$/.exec(page.url()) ?? []
    const table = page.getByRole('region', { name: 'First fundings in this transaction' })
    await table.getByRole('link', { name: `${address.slice(0, 8)}…` }).waitFor()
    await table.locator(`a[href="${funderHref}"]`).waitFor()
    await browser.accessible(page)
    await page.goBack()

    await trail
      .getByText('The trail leads to a labelled address')
      .getByRole('link', { name: /-exchange$/ })
      .click()
    const name = /Exchange$/
    await page.getByRole('heading', { level: 1, name }).waitFor()
    await page
      .getByRole('region', { name: 'Addresses of this entity' })
      .getByText(/^\d+ %$/)
      .first()
      .waitFor()
    const funded = page.getByRole('region', { name: 'Addresses that this entity funded' })
    await funded.getByRole('row').nth(1).waitFor()
    assert.ok(hops > 1)
    await page.getByText('Blocks of Polygon (137) read so far: 0-79,').waitFor()
    await browser.accessible(page)
    await browser.leave(page)

    const search = await open('')
    await search
      .getByRole('searchbox', { name: 'Address, transaction or name' })
      .fill(hash.toUpperCase().replace('0X', '0x'))
    await search.keyboard.press('Enter')
    await search.getByRole('heading', { level: 1, name: `Transaction ${hash.slice(0, 8)}` }).waitFor()
    await search.goto(`${browser.demo.url}/#/explorer/tx/${hash.replace(/.$/, (digit) => (digit === '0' ? '1' : '0'))}`)
    await search.getByText('This transaction is not stored.').waitFor()
    await search.goto(`${browser.demo.url}/#/explorer/entity/nobody`)
    await search.getByText('The label registry has no entity nobody.').waitFor()
    await browser.leave(search)
    const withoutKey = await open('/entity/nobody', { key: '', before: hideDemoKey })
    await withoutKey.getByText('This needs an API key, and none is set.').waitFor()
    await browser.leave(withoutKey)
  })

  test('pages fit a narrow screen and are accessible in the dark theme', async () => {
    for (const path of ['', '/1?q=exchange', `/1/${address}`, '/entity/cobalt-exchange']) {
      const page = await open(path, { colorScheme: 'dark', viewport: { width: 360, height: 800 } })
      await page.locator('.trail a, .pager, td a').first().waitFor()
      assert.ok(await fits(page), path)
      await browser.accessibleStyle(page)
      await browser.leave(page)
    }
  })

  test('the fundings of many addresses are a table and a CSV file, in the order of the input', async () => {
    const page = await open('')
    const card = page.getByRole('region', { name: 'Many addresses' })
    const find = async (text: string) => {
      await card.getByRole('textbox').fill(text)
      await card.getByRole('button', { name: 'Find fundings' }).click()
    }
    await find(`${address}, 0x12`)
    await card.getByText('Address 2, 0x12, is not an address.').waitFor()
    await find(`${address} `.repeat(1001))
    await card.getByText('These are 1001 addresses. Enter at most 1000 at once.').waitFor()

    const unknown = `0x${'9'.repeat(40)}`
    await find(`${unknown}\n${address};${unknown}`)
    const rows = card.getByRole('row')
    await rows.nth(3).waitFor()
    const cells = async (at: number) => rows.nth(at).getByRole('cell').allTextContents()
    const [, status, funder = ''] = await cells(2)
    assert.equal(status, 'funded')
    assert.match(funder, /0x/)
    const [, otherStatus, otherFunder, , , reason] = await cells(1)
    assert.equal(otherStatus, 'not funded')
    assert.deepEqual([otherFunder, await cells(3)], ['', await cells(1)])
    assert.notEqual(reason, '')
    await browser.accessible(page)

    const downloading = page.waitForEvent('download')
    await card.getByRole('button', { name: 'CSV' }).click()
    const download = await downloading
    assert.equal(download.suggestedFilename(), 'fundings-1.csv')
    const lines = (await readFile(await download.path(), 'utf8')).trimEnd().split('\r\n')
    assert.deepEqual(
      lines.map((line) => line.split(',').slice(0, 2).join()),
      ['address,status', `${unknown},none`, `${address},funded`, `${unknown},none`],
    )
    await browser.leave(page)
  })

  test('a trail is downloaded as SVG, JSON and CSV', async () => {
    const page = await browser.page(`/#/explorer/1/${address}`)
    const textOf = async (format: string) => {
      const downloading = page.waitForEvent('download')
      await page.getByRole('region', { name: 'Funding trail' }).getByRole('button', { name: format }).click()
      const download = await downloading
      assert.equal(download.suggestedFilename(), `trail-1-${address}.${format.toLowerCase()}`)
      return readFile(await download.path(), 'utf8')
    }
    const trail = JSON.parse(await textOf('JSON')) as { address: string; hops: { fundingAddress: string }[] }
    assert.equal(trail.address, address)
    const rows = (await textOf('CSV')).trim().split('\r\n')
    assert.equal(rows.length, trail.hops.length + 1)
    assert.equal(rows[1]?.split(',')[2], trail.hops[0]?.fundingAddress)
    const svg = await textOf('SVG')
    assert.match(svg, /^<svg[^>]* xmlns="http:\/\/www.w3.org\/2000\/svg"/)
    assert.match(svg, /<rect[^>]* fill="(rgb|color)/)
    await browser.leave(page)
  })

  const fits = (page: Awaited<ReturnType<typeof open>>): Promise<boolean> =>
    page.evaluate(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth)
})

const nth = (hop: number): string => `0x${hop.toString(16).padStart(40, '0')}`

function longTrail(length: number): object {
  const hops = Array.from({ length }, (_, hop) => ({
    address: nth(hop),
    block: 1000 - hop,
    timeStamp: String(1_790_000_000 - hop * 1000),
    fundingAddress: nth(hop + 1),
    fundingTxn: `0x${'a'.repeat(64)}`,
    value: '1',
  }))
  const end = { reason: 'depth', address: nth(length), message: 'It goes on.' }
  return { status: '1', message: 'OK', result: { chainid: '1', address: nth(0), hops, end } }
}
