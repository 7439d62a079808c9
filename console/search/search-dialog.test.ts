// The search of the whole console in a real browser with demo data.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { type Client, createClient } from '#api/client/client.ts'
import { type Browser, noBrowser, openBrowser } from '#test/browser.ts'
import { kindTitles } from './search-result.ts'

describe('search', { skip: noBrowser }, () => {
  let browser: Browser
  let client: Client
  before(async () => {
    browser = await openBrowser()
    client = createClient({ baseUrl: browser.demo.url, key: browser.demo.key })
  })
  after(async () => {
    await browser[Symbol.asyncDispose]()
    browser.done()
  })

  /** Opens the search with the key and types a text. */
  async function search(page: Page, text: string) {
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.keyboard.press('/')
    const dialog = page.getByRole('dialog', { name: 'Search' })
    await dialog.getByRole('searchbox').fill(text)
    await dialog
      .getByRole('status')
      .filter({ hasText: /results?$|No results/ })
      .waitFor()
    return dialog
  }

  test('what is typed right after the key "/" is searched', async () => {
    const page = await browser.page('/#/markets')
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.keyboard.type('/exchange')
    assert.equal(await page.getByRole('dialog', { name: 'Search' }).getByRole('searchbox').inputValue(), 'exchange')
    await browser.leave(page)
  })

  test('what is typed before the dialog is loaded is searched too', async () => {
    const page = await browser.page('/#/markets', {
      isNew: true,
      before: async (opened) => {
        await opened.route('**/assets/search-dialog-*.js', async (route) => {
          await new Promise((resolve) => setTimeout(resolve, 1000))
          await route.continue()
        })
      },
    })
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.keyboard.type('/exchange')
    const box = page.getByRole('dialog', { name: 'Search' }).getByRole('searchbox')
    assert.equal(await box.inputValue(), 'exchange')
    await box.press('End')
    await page.keyboard.type('s')
    assert.equal(await box.inputValue(), 'exchanges')
    await browser.leave(page)
  })

  test('counts all matches of all chains and kinds, and shows those of a group on request', async () => {
    const page = await browser.page('/#/markets')
    const entities = new Set(
      (await client.explorer.labelSearch({ q: 'meridian', kind: 'entity', limit: 50 })).result.map(({ slug }) => slug),
    )
    // An address has a label for each source.
    const labelled = (await client.explorer.labelSearch({ q: 'meridian', kind: 'address', limit: 50 })).result
    const addresses = new Set(labelled.map(({ chainid, address }) => `${chainid} ${address}`))
    assert.ok(entities.size > 5, 'the demo has more entities than a group shows')
    const dialog = await search(page, 'meridian')
    const group = dialog.getByRole('region', { name: `Entities ${entities.size}` })
    assert.equal(await group.getByRole('link').count(), 5)
    await group.getByRole('button', { name: `All ${entities.size} results` }).click()
    await group
      .getByRole('link')
      .nth(entities.size - 1)
      .waitFor()
    assert.equal(await group.getByRole('link').count(), entities.size)
    await dialog
      .getByRole('region', { name: `Addresses ${addresses.size}` })
      .getByRole('link')
      .first()
      .waitFor()
    await browser.accessible(page)
    await browser.leave(page)
  })

  test('finds pages and documentation, also with typing errors and with Ctrl+K, and remembers what was opened', async () => {
    const page = await browser.page('/market')
    await page.getByRole('searchbox').press('Control+k')
    const dialog = page.getByRole('dialog', { name: 'Search' })
    const field = dialog.getByRole('searchbox')
    const group = (name: string) => dialog.getByRole('region', { name: new RegExp(`^${name} \\d`) })
    await field.fill('keys')
    await group('Pages').locator('a[href="/keys"]').waitFor()
    await field.fill('merdian')
    await dialog.getByRole('status').filter({ hasText: 'No name matches exactly.' }).waitFor()
    await group('Entities').locator('a[href="/explorer/entity/meridian-exchange"]').waitFor()
    await browser.accessible(page)
    await field.fill('confguration')
    const first = group('Documentation').getByRole('link').first()
    await dialog.locator('a[href="/docs/configuration.html"]').waitFor()
    assert.equal(await first.getAttribute('href'), '/docs/configuration.html')
    await field.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Configuration' }).waitFor()
    await page.goBack()
    await page.getByRole('heading', { level: 1, name: 'Markets' }).waitFor()
    await page.keyboard.press('/')
    await dialog.getByRole('heading', { name: 'Recent' }).waitFor()
    await dialog.locator('a[href="/docs/configuration.html"]').waitFor()
    await browser.leave(page)
  })

  test('a pasted key is neither searched nor remembered', async () => {
    const sent: string[] = []
    const page = await browser.page('/market', {
      before: async (opened) => void opened.on('request', (request) => sent.push(request.url())),
    })
    const dialog = await search(page, 'tetrad:abc:SECRET')
    await dialog.getByText('No results.').waitFor()
    assert.deepEqual(
      sent.filter((url) => url.includes('SECRET')),
      [],
    )
    assert.ok(!(await page.evaluate(() => JSON.stringify({ ...localStorage }))).includes('SECRET'))
    await browser.leave(page)
  })

  test('a kind that could not be searched is named', async () => {
    const page = await browser.page('/#/markets', {
      before: async (opened) => {
        await opened.route('**/v1/eth/entities?**', (route) => route.fulfill({ status: 403, json: {} }))
      },
    })
    const dialog = await search(page, 'meridian')
    await dialog.getByText('Not searched: pools, operators.').waitFor()
    await browser.leave(page)
  })

  test('finds addresses, transactions, entities, labels, validators, pools, operators, markets and quotes', async () => {
    const [pool] = (await client.validators.entities({ sort: 'validators', sortOrder: 'desc' })).entities
    const [operator] = (await client.validators.entities({ kind: 'operator' })).entities
    const [validator] = (await client.validators.find({ pool: pool?.name ?? '' })).validators
    const labels = (await client.explorer.labelSearch({ q: 'exchange' })).result
    const label = labels.find(({ address }) => address !== undefined)
    const { fundingTxn: txn } = (await client.explorer.fundedBy({ address: browser.demo.samples.address })).result
    const { markets } = await client.markets.search({ limit: 1 })
    const quote = '6f1c0a52-7f6e-4c1a-9b0e-0d8f2f3a4b5c'
    const page = await browser.page('/#/markets')
    for (const [text, kind, href] of [
      [pool?.name.slice(2, 9) ?? '', 'Pool', `/validators?network=mainnet&q=${pool?.name.replace(/ /g, '+')}`],
      [operator?.name ?? '', 'Operator', `/validators?network=mainnet&q=${operator?.name.replace(/ /g, '+')}`],
      [String(validator?.validatorIndex), 'Validator', `/validators/${validator?.validatorIndex}?network=mainnet`],
      [
        validator?.validatorPubkey.slice(0, 20) ?? '',
        'Validator',
        `/validators/${validator?.validatorIndex}?network=mainnet`,
      ],
      [
        validator?.withdrawalAddress ?? '',
        'Validators',
        `/validators?network=mainnet&q=${validator?.withdrawalAddress}`,
      ],
      [label?.address ?? '', 'Address', `/explorer/1/${label?.address}`],
      [txn, 'Transaction', `/explorer/tx/${txn}`],
      [label?.slug ?? '', 'Entity', `/explorer/entity/${label?.slug}`],
      [label?.name ?? '', 'Address', `/explorer/${label?.chainid}/${label?.address}`],
      [markets[0]?.question ?? '', 'Market', `/market/${markets[0]?.slug}`],
      [markets[0]?.id ?? '', 'Market', `/market/${markets[0]?.slug}`],
      [quote, 'Quote', `/fx/${quote}`],
    ] as const) {
      const dialog = await search(page, text)
      const group = dialog.getByRole('region', { name: new RegExp(`^${kindTitles[kind]} \\d`) })
      await group.locator(`a[href="${href}"]`).waitFor()
      await page.keyboard.press('Escape')
      await dialog.waitFor({ state: 'detached' })
    }
    await browser.leave(page)
  })

  test('what the text names comes first: a validator, a pool; documentation comes after data', async () => {
    const page = await browser.page('/#/markets')
    for (const [text, href, title] of [
      ['validator 12', '/validators/12?network=mainnet', 'Validator 12'],
      ['lantern pool', '/validators?network=mainnet&q=Lantern+Pool', 'Validators in pool Lantern Pool'],
    ] as const) {
      const dialog = await search(page, text)
      assert.equal(await dialog.locator('section a').first().getAttribute('href'), href)
      const groups = await dialog.getByRole('heading', { level: 2 }).allTextContents()
      assert.ok(!groups.slice(0, -1).some((name) => name.startsWith('Documentation')), groups.join())
      await page.keyboard.press('Enter')
      await page
        .getByRole('heading', { level: 1, name: title })
        .or(page.getByRole('heading', { name: title }))
        .first()
        .waitFor()
    }
    await browser.leave(page)
  })

  test('works by keyboard alone, and shows recent and suggested items before a text is typed', async () => {
    const page = await browser.page('/#/validators')
    const dialog = await search(page, '12')
    await browser.accessible(page)
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Validator 12' }).waitFor()
    assert.equal(await dialog.count(), 0)
    await page.getByRole('button', { name: 'Find anything /' }).click()
    await dialog.getByRole('heading', { name: 'Recent' }).waitFor()
    await dialog.getByRole('link', { name: 'Validator 12 on mainnet' }).waitFor()
    await dialog.getByRole('heading', { name: 'Suggestions' }).waitFor()
    await browser.accessible(page)
    await dialog.getByRole('button', { name: 'Clear' }).click()
    await dialog.getByRole('heading', { name: 'Recent' }).waitFor({ state: 'detached' })
    await page.keyboard.press('Escape')
    await browser.leave(page)
  })

  test('the key does not open it while typing, and a text without results says how names match', async () => {
    const page = await browser.page('/#/validators')
    const field = page.getByRole('searchbox')
    await field.pressSequentially('a/b')
    assert.equal(await field.inputValue(), 'a/b')
    assert.equal(await page.getByRole('dialog').count(), 0)
    await field.blur()
    const dialog = await search(page, 'zzzz nothing')
    await dialog.getByText('No results. Names of labels and markets match').waitFor()
    await browser.leave(page)
  })

  test('a page without a selection links to items that were opened before', async () => {
    const { markets } = await client.markets.search({ limit: 1 })
    const page = await browser.page(`/#/markets/${markets[0]?.slug}`)
    await page.getByRole('heading', { level: 1, name: markets[0]?.question ?? '' }).waitFor()
    await page.getByRole('link', { name: 'All markets' }).click()
    await page
      .getByText('Recent:')
      .getByRole('link', { name: markets[0]?.question ?? '' })
      .waitFor()
    await browser.leave(page)
  })
})
