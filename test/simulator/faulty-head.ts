// A simulated network whose node fails from time to time: status 503, closed connections, truncated bodies.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createSeededRandom, type SeededRandom } from '#simulator/seeded-random.ts'
import { MovingHead, type MovingHeadOptions } from './moving-head.ts'
import type { CompletedNetwork } from './simulate-network.ts'

export class FaultyHead extends MovingHead {
  readonly #draws: SeededRandom
  readonly #faults: number

  /** `faults`: share of the responses that fail. */
  constructor(chain: CompletedNetwork, faults: number, options: MovingHeadOptions) {
    super(chain, options)
    this.#draws = createSeededRandom(`${chain.seed}/faults`)
    this.#faults = faults
  }

  override intercept(request: IncomingMessage, response: ServerResponse): boolean {
    if (!this.#draws.happens(this.#faults)) return super.intercept(request, response)
    const kind = this.#draws.whole(0, 3)
    if (kind === 0) response.writeHead(503).end('{"code":503,"message":"not now"}')
    else if (kind === 1) request.socket.destroy()
    else response.writeHead(200, { 'content-type': 'application/json' }).end('{"data":[{"index":"0","sl')
    return true
  }
}
