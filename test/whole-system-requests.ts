// Requests that whole-system runs send to a server.
import assert from 'node:assert/strict'
import { type Finding, isReady } from '#http/health.ts'

export const bearer = (key: string) => ({ authorization: `Bearer ${key}`, 'x-validator-network': 'hoodi' })

export async function request(url: string, options: RequestInit = {}) {
  const response = await fetch(url, options)
  return { status: response.status, headers: response.headers, text: await response.text() }
}

export const statusWith = async (url: string, key: string): Promise<number> =>
  (await request(`${url}/v0/eth/validators/1`, { headers: bearer(key) })).status

/** The checks of /readyz that fail. */
export async function failingChecks(
  url: string,
): Promise<readonly { readonly name: string; readonly message: string }[]> {
  const { status, text } = await request(`${url}/readyz`)
  const { checks } = JSON.parse(text) as { checks: Finding[] }
  const failing = checks.filter(({ ok }) => !ok)
  assert.equal(status, isReady(checks) ? 200 : 503)
  return failing
}

export async function dutyResponses(url: string, key: string): Promise<string[]> {
  const responses: string[] = []
  for (let index = 0; index < 24; index += 3) {
    const { status, text } = await request(`${url}/v1/eth/validators/${index}/explain?limit=100`, {
      headers: bearer(key),
    })
    assert.equal(status, 200, text)
    responses.push(text)
  }
  return responses
}
