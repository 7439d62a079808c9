// The frame around every page: where one can go, who one is, and the page itself, each loaded when it is first seen.
import { type ComponentType, lazy, Suspense, useEffect } from 'react'
import { Crash } from './parts/crash.tsx'
import { KeyButton } from './parts/key-button.tsx'
import { ThemeButton } from './parts/theme-button.tsx'
import { usePass } from './pass.tsx'
import { hrefOf, type PageName, type Place, usePlace } from './place.ts'

interface PageEntry {
  readonly title: string
  readonly Page: ComponentType<{ readonly place: Place }>
  /** Not in the list of pages. */
  readonly hidden?: true
}

const pages: Readonly<Record<PageName, PageEntry>> = {
  overview: {
    title: 'Overview',
    Page: lazy(() => import('./pages/overview.tsx').then(({ Overview }) => ({ default: Overview }))),
  },
  explorer: {
    title: 'Explorer',
    Page: lazy(() => import('./pages/explorer.tsx').then(({ Explorer }) => ({ default: Explorer }))),
  },
  fx: { title: 'FX', Page: lazy(() => import('./pages/fx.tsx').then(({ Fx }) => ({ default: Fx }))) },
  validators: {
    title: 'Validators',
    Page: lazy(() => import('./pages/validators.tsx').then(({ Validators }) => ({ default: Validators }))),
  },
  markets: {
    title: 'Markets',
    Page: lazy(() => import('./pages/markets.tsx').then(({ Markets }) => ({ default: Markets }))),
  },
  keys: { title: 'Keys', Page: lazy(() => import('./pages/keys.tsx').then(({ Keys }) => ({ default: Keys }))) },
  reference: {
    title: 'API reference',
    Page: lazy(() => import('./pages/reference.tsx').then(({ Reference }) => ({ default: Reference }))),
  },
  'sign-in': {
    title: 'Sign in',
    hidden: true,
    Page: lazy(() => import('./pages/sign-in.tsx').then(({ SignIn }) => ({ default: SignIn }))),
  },
}

export function App() {
  const place = usePlace()
  const { title, Page } = pages[place.page]
  useEffect(() => {
    document.title = `${title} · Tetrad`
  }, [title])
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
              <a key={name} href={hrefOf(name)} aria-current={place.page === name ? 'page' : undefined}>
                {pages[name].title}
              </a>
            ))}
        </nav>
        <div className="foot">
          <Who />
          <ThemeButton />
        </div>
      </header>
      <main id="main" tabIndex={-1}>
        <Crash key={`${place.page}/${place.parts.join('/')}`}>
          <Suspense fallback={<p className="busy">Loading…</p>}>
            <Page place={place} />
          </Suspense>
        </Crash>
      </main>
    </div>
  )
}

function Who() {
  const { session, signOut } = usePass()
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
