// The work of a request ends with its caller: after the caller has left, and after the time limit, at most one more unit of
// work begins, and none once the response is settled (behaviour/http.md#when-a-request-ends). For every endpoint: one without a
// call in endpoint-calls.ts does not compile. Other paths: extra-work-ends.test.ts.
import { after, before, describe, test } from 'node:test'
import { type Client, createClient } from '#api/client/client.ts'
import { allEndpoints } from '#api/contract/extensions.ts'
import type { AnyId } from '#api/contract/routes.ts'
import type { Authorizer } from '#http/authorize.ts'
import type { Caller } from '#http/handler.ts'
import { checkWorkEnds, openCounted, type SentRequest } from './count-work.ts'
import { type DemoServer, openDemoServer } from './demo-server.ts'
import { createCalls, withPushSource } from './endpoint-calls.ts'

let world: DemoServer
let lastRequest: SentRequest
let calls: ReturnType<typeof createCalls>
/** The quotes of the calls are theirs. */
let caller: Caller

before(async () => {
  world = await openDemoServer(withPushSource)
  const fetchAndKeep: typeof fetch = (url, init = {}) => {
    const { method = 'GET', headers, body } = init
    lastRequest = {
      url: new URL(String(url)),
      method,
      headers: new Headers(headers),
      body: body == null ? undefined : Buffer.from(String(body)),
    }
    return fetch(url, init)
  }
  const key = await world.keyFor('enterprise', { admin: true })
  caller = { keyId: key.split(':')[1] ?? '', plan: 'enterprise' }
  const client: Client = createClient({ baseUrl: world.url, key, fetch: fetchAndKeep })
  calls = createCalls(client, world)
})
after(() => world[Symbol.asyncDispose]())

const authorizer = { authorize: () => caller, close: async () => {} } as unknown as Authorizer

describe('the work of a request ends with its caller', () => {
  for (const id of Object.keys(allEndpoints) as AnyId[])
    test(id, async () => {
      await calls[id]()
      const sent = lastRequest
      await checkWorkEnds(
        () => openCounted(world.server.context, authorizer),
        async () => sent,
      )
    })
})
