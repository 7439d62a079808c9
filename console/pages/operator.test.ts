import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClient } from '#api/client.ts'
import { createLink } from '#server/console/sessions.ts'
import { noBrowser, openBrowser } from '#test/browser.ts'

test('what the operator sees', { skip: noBrowser }, async (t) => {
  await using browser = await openBrowser()
  await t.test(
    'a visitor sees how the data stands; the operator signs in by a link, once, and sees who asks',
    {
      skip: noBrowser,
    },
    async () => {
      const { world } = browser
      const visitor = await browser.page('/', { key: '' })
      await visitor.getByRole('heading', { name: 'Ready: all checks pass' }).waitFor()
      await visitor.getByRole('img', { name: /^chain 1: from 0 to/ }).waitFor()
      await visitor.getByText("are the operator's to see").waitFor()
      await browser.accessible(visitor)

      const { token } = await createLink(world.server.desk)
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

      await page.getByRole('button', { name: 'Sign out' }).click()
      await page.getByText("are the operator's to see").waitFor()
      await page.goto(`${world.url}/#/keys`)
      await page.getByText("Keys are the operator's.").waitFor()
    },
  )

  await t.test('a key is made, shown once, used, counted, changed, given a new secret and revoked', async () => {
    const { world } = browser
    const { token } = await createLink(world.server.desk)
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
    browser.done()
  })
})
