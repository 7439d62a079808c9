import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { createLink, signOutAll } from '#admin/sessions.ts'
import { createClient } from '#api/client.ts'
import { createKey } from '#storage/keys.ts'
import { noBrowser, openBrowser } from '#test/browser.ts'

test('what the operator sees', { skip: noBrowser }, async (t) => {
  await using browser = await openBrowser()
  await t.test(
    'a visitor sees how the data stands; the operator signs in by a link, once, and sees who asks',
    {
      skip: noBrowser,
    },
    async () => {
      const { demo: world } = browser
      const visitor = await browser.page('/', { key: '' })
      await visitor.getByRole('heading', { name: 'Ready: all checks pass' }).waitFor()
      await visitor.getByRole('img', { name: /^chain 1: from 0 to/ }).waitFor()
      await visitor.getByText("are the operator's to see").waitFor()
      await browser.accessible(visitor)
      await browser.leave(visitor)

      const { token } = await createLink(world.server.context)
      const page = await browser.page(`/#/sign-in/${token}`, { key: '' })
      await page.getByRole('heading', { name: 'Requests a second' }).waitFor()
      assert.ok(!page.url().includes(token))
      await page.getByRole('button', { name: /^Key / }).waitFor()
      await page.getByRole('row', { name: /demo-north/ }).waitFor()
      await browser.accessible(page)
      await page.emulateMedia({ colorScheme: 'dark' })
      await browser.accessible(page)
      browser.done()

      const late = await browser.page(`/#/sign-in/${token}`, { key: '' })
      await late.getByRole('alert').waitFor()
      await browser.leave(late)

      await page.getByRole('button', { name: 'Sign out' }).click()
      await page.getByText("are the operator's to see").waitFor()
      await page.goto(`${world.url}/#/keys`)
      await page.getByText("Keys are the operator's.").waitFor()
      await browser.leave(page)
    },
  )

  await t.test('a key is made, shown once, used, counted, changed, given a new secret and revoked', async () => {
    const { demo: world } = browser
    const { token } = await createLink(world.server.context)
    const page = await browser.page(`/#/sign-in/${token}`, { key: '' })
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
    await page.getByRole('link', { name: 'Keys' }).click()
    await page.getByLabel('Whose key it is').fill('treasury desk')
    await page.getByRole('combobox', { name: 'Plan' }).selectOption('standard')
    await page.getByRole('checkbox', { name: 'markets' }).uncheck()
    await page.getByRole('button', { name: 'Create' }).click()
    const key = await page.getByText(/^tetrad:[\w-]+:[\w-]+$/).innerText()
    await browser.accessible(page)

    const client = createClient({ baseUrl: world.url, key })
    assert.equal((await client.fx.currencies()).chainId, 1)
    const row = page.getByRole('row', { name: /treasury desk/ })
    await row.getByText('explorer, fx, validators').waitFor()

    await row.getByRole('button', { name: /^Edit/ }).click()
    await page.getByRole('heading', { name: /^Change / }).waitFor()
    await browser.accessible(page)
    await page.getByRole('checkbox', { name: 'markets' }).check()
    await page.getByLabel('Days until it expires').fill('30')
    await page.getByRole('button', { name: 'Save' }).click()
    await row.getByText('explorer, fx, validators, markets').waitFor()
    assert.doesNotMatch(await row.innerText(), /never/)
    assert.equal((await client.fx.currencies()).chainId, 1)

    page.on('dialog', (dialog) => void dialog.accept())
    await row.getByRole('button', { name: /^New secret/ }).click()
    const fresh = await page.getByText(/^tetrad:[\w-]+:[\w-]+$/).innerText()
    await assert.rejects(client.fx.currencies(), { status: 401 })
    const renewed = createClient({ baseUrl: world.url, key: fresh })
    assert.equal((await renewed.fx.currencies()).chainId, 1)

    await row.getByRole('button', { name: /^Revoke/ }).click()
    await row.getByText('revoked').waitFor()
    await assert.rejects(renewed.fx.currencies(), { status: 401 })

    await row.getByRole('link', { name: 'treasury desk' }).click()
    await page.getByRole('row', { name: /fx\.currencies 3 0/ }).waitFor()
    await browser.accessible(page)
    await page.reload()
    for (const shown of [key, fresh]) assert.equal(await page.getByText(shown).count(), 0)
    await browser.leave(page)
    browser.done()
  })

  await t.test('a key among hundreds is found by part of its name, and the oldest by its page', async () => {
    const { context } = browser.demo.server
    for (let at = 0; at < 120; at++) {
      await createKey(context.state, { name: `caller ${at}`, plan: 'free' }, context.clock, context.random)
    }
    const { token } = await createLink(context)
    const page = await browser.page(`/#/sign-in/${token}`, { key: '' })
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
    await page.getByRole('link', { name: 'Keys' }).click()
    await page.getByText(/^Page 1 of 2, 12\d keys$/).waitFor()
    await page.getByRole('button', { name: 'Older' }).click()
    await page.getByRole('link', { name: 'caller 1', exact: true }).waitFor()
    await page.getByText(/^Page 2 of 2/).waitFor()
    await browser.accessible(page)
    await page.getByLabel('Part of a name or an id').fill('CALLER 11')
    await page.getByRole('button', { name: 'Search' }).click()
    await page.getByText('Page 1 of 1, 11 keys').waitFor()
    await page.getByLabel('Part of a name or an id').fill('nobody')
    await page.getByRole('button', { name: 'Search' }).click()
    await page.getByText('No key has these words').waitFor()
    await page.goto(`${browser.demo.url}/#/keys/nope`)
    await page.getByText('There is no key nope.').waitFor()
    browser.done()
    await browser.leave(page)
  })

  await t.test('a restart of the server empties the plots, and nothing breaks', async () => {
    const { token } = await createLink(browser.demo.server.context)
    const page = await browser.page(`/#/sign-in/${token}`, { key: '' })
    const reading = page.getByRole('img', { name: 'Blocks, epochs and records read a second' })
    await reading.waitFor()
    const anew = { startedAt: new Date().toISOString(), ingest: [], limited: {} }
    await page.route('**/console/overview', async (route) => {
      const response = await route.fetch()
      await route.fulfill({ response, json: { ...((await response.json()) as object), ...anew } })
    })
    await reading.waitFor({ state: 'detached' })
    // Two answers of the new start: there is a rate again, and nothing that was read.
    await page.getByRole('img', { name: 'Requests a second, by interface' }).waitFor()
    await page.unroute('**/console/overview')
    await reading.waitFor()
    browser.done()
    await browser.leave(page)
  })

  await t.test('a session that was ended elsewhere is noticed at the next call, whatever that asks for', async () => {
    const { context } = browser.demo.server
    const acts: Record<string, (page: Page) => Locator> = {
      overview: (page) => page.getByRole('heading', { name: 'Requests a second' }),
      fx: (page) => page.getByRole('button', { name: 'Get a price' }),
      keys: (page) => page.getByRole('button', { name: 'Older' }),
      'explorer/1': (page) => page.getByText('Try one of these').getByRole('link').first(),
    }
    for (const [place, act] of Object.entries(acts)) {
      const { token } = await createLink(context)
      const page = await browser.page(`/#/sign-in/${token}`, { key: '' })
      await page.getByRole('button', { name: 'Sign out' }).waitFor()
      await page.goto(new URL(`/#/${place}`, browser.demo.url).href)
      await act(page).waitFor()
      if (place === 'fx') await page.getByRole('button', { name: 'An example' }).click()
      await signOutAll(context)
      await act(page).click()
      await page.getByText('You are signed out').waitFor()
      await page.getByRole('button', { name: 'Set a key' }).waitFor()
      assert.equal(await page.getByRole('button', { name: 'Sign out' }).count(), 0)
      await browser.accessible(page)
      // Refused keys count as failed attempts (behaviour/http.md#too-many-invalid-keys), so not every page signs in again.
      if (place === 'overview') {
        const again = await createLink(context)
        await page.goto(new URL(`/#/sign-in/${again.token}`, browser.demo.url).href)
        await page.getByRole('button', { name: 'Sign out' }).waitFor()
        assert.equal(await page.getByText('You are signed out').count(), 0)
      }
      await browser.leave(page)
    }
    browser.done()
  })
})
