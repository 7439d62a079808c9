// A TCP proxy that breaks connections at a chosen moment.
//   await using proxy = new BreakingProxy(server.port)
//   const port = await proxy.listen()
import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'

export class BreakingProxy implements AsyncDisposable {
  readonly #server: Server
  readonly #ends = new Set<Socket>()
  /** Breaks the connection at the next data in a direction, before or after it has arrived. */
  cut: 'questions' | 'answers' | undefined
  /** Is told what clients send, as text. */
  onQuestion: (text: string) => void = () => {}
  /**
   * Decides by what a client sends whether its connection breaks at the answer, or stays open without one. What was sent
   * arrives.
   */
  decide: (text: string) => 'break' | 'hold' | undefined = () => undefined
  /** Connections that stay open without an answer. */
  held = 0
  /** Drops all data silently. */
  silent = false

  constructor(port: number) {
    this.#server = createServer((client) => {
      const database = connect(port, '127.0.0.1')
      this.#ends.add(client).add(database)
      const breakOff = () => {
        client.destroy()
        database.destroy()
      }
      let decision: 'break' | 'hold' | undefined
      for (const end of [client, database]) end.on('error', breakOff).on('close', breakOff)
      client.on('close', () => {
        if (decision === 'hold') this.held -= 1
      })
      client.on('data', (chunk) => {
        if (this.silent) return
        const text = chunk.toString('latin1')
        this.onQuestion(text)
        if (decision === undefined) {
          decision = this.decide(text)
          if (decision === 'hold') this.held += 1
        }
        if (this.cut !== 'questions') return void database.write(chunk)
        this.cut = undefined
        breakOff()
      })
      database.on('data', (chunk) => {
        if (this.silent || decision === 'hold') return
        if (decision === 'break') return breakOff()
        if (this.cut !== 'answers') return void client.write(chunk)
        this.cut = undefined
        breakOff()
      })
    })
  }

  async listen(): Promise<number> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return (this.#server.address() as { port: number }).port
  }

  /** Breaks all connections. New ones work. */
  breakAll(): void {
    for (const end of this.#ends) end.destroy()
    this.#ends.clear()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.breakAll()
    this.#server.close()
  }
}
