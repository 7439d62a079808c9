import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseRoute } from './route.ts'
import { titleOf } from './titles.ts'

const title = (hash: string, pageTitle: string) => titleOf(parseRoute(hash), pageTitle)

test('the title names the item that is shown, or else only the page', () => {
  const address = `0x${'ab'.repeat(20)}`
  assert.deepEqual(
    [
      title('#/markets/will-it-rain', 'Markets'),
      title('#/validators/12?network=hoodi', 'Validators'),
      title('#/validators/compare', 'Validators'),
      title('#/fx/6f1c0a52', 'FX'),
      title(`#/explorer/1/${address}`, 'Explorer'),
      title('#/explorer/1', 'Explorer'),
      title('#/explorer/entity/cobalt-exchange', 'Explorer'),
      title(`#/explorer/tx/0x${'cd'.repeat(32)}`, 'Explorer'),
      title('#/keys/anonymous', 'Keys'),
      title('', 'Overview'),
    ],
    [
      'will-it-rain · Markets · Tetrad',
      'Validator 12 on hoodi · Validators · Tetrad',
      'Compare · Validators · Tetrad',
      'Quote 6f1c0a52 · FX · Tetrad',
      '0xababab…ababab on chain 1 · Explorer · Tetrad',
      'Chain 1 · Explorer · Tetrad',
      'cobalt-exchange · Explorer · Tetrad',
      'Transaction 0xcdcdcd…cdcdcd · Explorer · Tetrad',
      'Requests without a key · Keys · Tetrad',
      'Overview · Tetrad',
    ],
  )
})

test('the title of the sign-in page does not contain the token', () => {
  assert.equal(title('#/sign-in/link_secret', 'Sign in'), 'Sign in · Tetrad')
})
