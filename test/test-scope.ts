// Makes node:test find the current test with AsyncLocalStorage. By itself it registers an async hook for every promise,
// socket and timer, which takes 5 to 15 % of the CPU time of our tests. Import this file before node:test is loaded.
import asyncHooks, { AsyncLocalStorage, type AsyncResourceOptions } from 'node:async_hooks'

type Callback<This, Args extends unknown[], Result> = (this: This, ...args: Args) => Result

const { createHook, executionAsyncId, AsyncResource } = asyncHooks
const currentTest = new AsyncLocalStorage<number>()

/** How node:test is told about a new resource. */
let onInit: asyncHooks.HookCallbacks['init']

class TestScope extends AsyncResource {
  constructor(type: string, options?: AsyncResourceOptions) {
    super(type, options)
    onInit?.(this.asyncId(), type, this.triggerAsyncId(), this)
  }

  override runInAsyncScope<This, Args extends unknown[], Result>(
    run: Callback<This, Args, Result>,
    thisArg?: This,
    ...args: Args
  ): Result {
    return super.runInAsyncScope(() => currentTest.run(this.asyncId(), () => run.apply(thisArg as This, args)))
  }
}

Object.assign(asyncHooks, {
  AsyncResource: TestScope,
  executionAsyncId: () => currentTest.getStore() ?? executionAsyncId(),
  createHook({ init }: asyncHooks.HookCallbacks) {
    onInit = init
    return { enable: () => {}, disable: () => {} }
  },
})
await import('node:test')
Object.assign(asyncHooks, { AsyncResource, executionAsyncId, createHook })
