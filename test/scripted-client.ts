// A client for a scripted server, for the tests of the client.
import assert from 'node:assert/strict'
import { type ClientOptions, createClient, TetradError } from '#api/client/client.ts'

export const key = 'tetrad:7f3a:s3cr3t+secret/with=signs'

/** A client that records waits instead of waiting. */
export function clientOf({ url }: { url: string }, options: Partial<ClientOptions> = {}) {
  const waits: number[] = []
  const client = createClient({
    baseUrl: url,
    key,
    sleep: async (waitMs) => void waits.push(waitMs),
    random: () => 1,
    now: () => Date.UTC(2026, 10, 15, 12),
    ...options,
  })
  return { client, waits }
}

/** The error of a failed call. */
export async function failureOf(call: Promise<unknown>): Promise<TetradError> {
  try {
    await call
  } catch (error) {
    assert.ok(error instanceof TetradError, String(error))
    return error
  }
  return assert.fail('the call succeeded')
}
