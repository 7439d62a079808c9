// The frame around every page: where one can go, who one is, and the page itself, each loaded when it is first seen.
import { type ComponentType, lazy, Suspense, useEffect } from 'react'
import { ErrorBoundary, NotLoaded } from './parts/error-boundary.tsx'
import { KeyButton } from './parts/key-button.tsx'
import { ThemeButton } from './parts/theme-button.tsx'
import { useHeading } from './parts/use-heading.ts'
import { hrefOf, type PageName, type PageRoute, useRoute } from './route.ts'
import { useConsoleContext } from './session.tsx'
import { titleOf } from './titles.ts'

type Page = ComponentType<{ readonly place: PageRoute }>

interface PageEntry {
  readonly title: string
  readonly Page: Page
  /** Not in the list of pages. */
  readonly hidden?: true
  /** What was typed in it is not forgotten when one goes on within it. */
  readonly stays?: true
}

const later = (load: () => Promise<Page>) =>
  lazy(async () => {
    try {
      return { default: await load() }
    } catch (cause) {
      throw new NotLoaded('The code of this page did not come.', { cause })
    }
  })

const pages: Readonly<Record<PageName, PageEntry>> = {
  overview: {
    title: 'Overview',
    Page: later(() => import('./pages/overview.tsx').then(({ Overview }) => Overview)),
  },
  explorer: {
    title: 'Explorer',
    Page: later(() => import('./pages/explorer.tsx').then(({ Explorer }) => Explorer)),
  },
  fx: { title: 'FX', stays: true, Page: later(() => import('./pages/fx.tsx').then(({ Fx }) => Fx)) },
  validators: {
    title: 'Validators',
    Page: later(() => import('./pages/validators.tsx').then(({ Validators }) => Validators)),
  },
  markets: {
    title: 'Markets',
    Page: later(() => import('./pages/markets.tsx').then(({ Markets }) => Markets)),
  },
  keys: { title: 'Keys', Page: later(() => import('./pages/keys.tsx').then(({ Keys }) => Keys)) },
  reference: {
    title: 'API reference',
    Page: later(() => import('./pages/reference.tsx').then(({ Reference }) => Reference)),
  },
  'sign-in': {
    title: 'Sign in',
    hidden: true,
    Page: later(() => import('./pages/sign-in.tsx').then(({ SignIn }) => SignIn)),
  },
  nowhere: { title: 'No such page', hidden: true, Page: NotFound },
}

export function App() {
  const route = useRoute()
  const { title, Page, stays } = pages[route.page]
  const at = [route.page, ...route.parts].join('/')
  const shown = stays ? route.page : at
  const name = titleOf(route, title)
  useEffect(() => {
    document.title = name
  }, [name])
  useHeading(shown)
  return (
    <div className="frame">
      <button type="button" className="skip" onClick={() => document.getElementById('main')?.focus()}>
        To the content
      </button>
      <header className="rail">
        <a className="brand" href={hrefOf('overview')}>
          <img src="/favicon.svg" alt="" />
          Tetrad
        </a>
        <nav aria-label="Pages">
          {(Object.keys(pages) as PageName[])
            .filter((name) => !pages[name].hidden)
            .map((name) => (
              <a key={name} href={hrefOf(name)} aria-current={route.page === name ? 'page' : undefined}>
                {pages[name].title}
              </a>
            ))}
        </nav>
        <div className="foot">
          <SessionStatus />
          <ThemeButton />
        </div>
      </header>
      <main id="main" tabIndex={-1}>
        <SessionEndedNotice />
        <ErrorBoundary at={at}>
          <Suspense fallback={<p className="busy">Loading…</p>}>
            <Page key={shown} place={route} />
          </Suspense>
        </ErrorBoundary>
      </main>
    </div>
  )
}

function SessionStatus() {
  const { session, signOut } = useConsoleContext()
  return (
    <>
      {session.signedIn && (
        <span className="soft">
          Operator{' '}
          <button type="button" className="plain" onClick={() => void signOut()}>
            Sign out
          </button>
        </span>
      )}
      <KeyButton />
    </>
  )
}

function SessionEndedNotice() {
  const { ended } = useConsoleContext()
  if (!ended) return null
  return (
    <div role="alert" className="note warn">
      You are signed out: the session was ended elsewhere, or its time is over. <code>tetrad console link</code> makes a
      link to sign in again.
    </div>
  )
}

function NotFound({ place }: { readonly place: PageRoute }) {
  return (
    <>
      <h1>No such page</h1>
      <p className="note">
        There is nothing at <code>#/{place.parts.join('/')}</code>. Choose a page from the list, or begin with the{' '}
        <a href={hrefOf('overview')}>overview</a>.
      </p>
    </>
  )
}
