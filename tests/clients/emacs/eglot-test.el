;;; eglot.el --- Outrigger from Emacs: eglot as it comes -*- lexical-binding: t; coding: utf-8 -*-

;; OUTRIGGER_BIN=… emacs -Q --batch -l eglot.el
;;
;; The folder's name is ASCII: this eglot does not decode other names in URIs.
;;
;; With the few lines of outrigger.el, and no other support: a run is started by a command, its findings are Flymake's, one question is
;; answered in the minibuffer, one by a code action.  Ends with a line that counts the checks.

;;; Code:

;; -Q skips what a distribution's startup would find.
(dolist (root '("/usr/share/emacs/site-lisp/elpa" "/usr/share/emacs/site-lisp/elpa-src"))
  (when (file-directory-p root)
    (dolist (folder (directory-files root t "^[a-z]"))
      (when (file-directory-p folder)
        (add-to-list 'load-path folder)))))
(require 'cl-lib)
(require 'eglot)
(require 'flymake)
(require 'json)
(add-to-list 'load-path (file-name-directory load-file-name))
(require 'outrigger)

(prefer-coding-system 'utf-8)
(setq eglot-sync-connect 30
      eglot-connect-timeout 30
      eglot-autoshutdown t
      eglot-confirm-server-initiated-edits nil
      make-backup-files nil
      create-lockfiles nil)

(defvar test-passed 0)
(defvar test-root (file-name-as-directory (make-temp-file "a project" t)))
(defvar test-state (file-name-as-directory (make-temp-file "state" t)))
(defvar test-lib "//! Größe.\n\npub fn eins() -> u32 {\n    1\n}\n")

(defun test-write (path text)
  "Write TEXT to PATH in UTF-8, byte for byte."
  (make-directory (file-name-directory path) t)
  (let ((coding-system-for-write 'utf-8-unix))
    (write-region text nil path nil 'silent)))

(defun test-read (path)
  "The text of the file at PATH."
  (with-temp-buffer
    (let ((coding-system-for-read 'utf-8-unix))
      (insert-file-contents path))
    (buffer-string)))

(defun test-wait (what fact)
  "Wait until FACT gives non-nil, and give it back; fail naming WHAT."
  (let ((deadline (+ (float-time) 30))
        value)
    (while (and (not (setq value (funcall fact))) (< (float-time) deadline))
      ;; What eglot does when Emacs is idle, which a batch Emacs never is.
      (when (eglot-managed-p)
        (eglot--signal-textDocument/didChange))
      (accept-process-output nil 0.02))
    (unless value
      (error "Waited in vain for %s; asked: %S" what test-asked))
    (setq test-passed (1+ test-passed))
    (princ (format "ok   %s\n" what))
    value))

(defun test-turn (tool arguments &optional expected)
  "A turn of the scripted model: calls TOOL with ARGUMENTS, after being shown EXPECTED."
  (append
   (when expected `((expect . ((last . ((contains . ,expected)))))))
   `((emit . [((tool . ,tool) (args . ,arguments))]))))

(defun test-diagnostic (text)
  "The Flymake diagnostic of this buffer that has TEXT."
  (cl-find-if (lambda (diagnostic)
                (string-match-p (regexp-quote text) (flymake-diagnostic-text diagnostic)))
              (flymake-diagnostics)))

(defvar test-asked nil "Prompts of the minibuffer, newest first.")

(defun test-answer (prompt collection &rest _)
  "Answer PROMPT with the choice of COLLECTION that is meant; dismiss other questions."
  (push prompt test-asked)
  (if (string-match-p "Wie groß" prompt)
      (cl-find "drei" (all-completions "" collection) :test #'string=)
    (when (string-match-p "cannot go on" prompt)
      (princ (format "FAIL %s\n" prompt)))
    ;; What a person does with C-g; a batch Emacs would end by that.
    (jsonrpc-error "dismissed")))

(defun test-action (beginning end title)
  "Perform the code action with TITLE that is offered between BEGINNING and END."
  (let* ((actions (append (eglot-code-actions beginning end nil) nil))
         (action (cl-find-if (lambda (action)
                               (string-match-p (regexp-quote title) (plist-get action :title)))
                             actions)))
    (unless action
      (error "No action %S among %S" title (mapcar (lambda (each) (plist-get each :title)) actions)))
    (let ((command (plist-get action :command)))
      ;; A bare command has its name there; a code action has a command in it.
      (when (stringp command)
        (setq command action))
      (jsonrpc-request (eglot-current-server) :workspace/executeCommand
                       (list :command (plist-get command :command)
                             :arguments (plist-get command :arguments))))))

(test-write (concat test-root "Cargo.toml")
            "[package]\nname = \"mass\"\nversion = \"0.1.0\"\nedition = \"2021\"\n")
(test-write (concat test-root "src/lib.rs") test-lib)
(defvar test-script (concat test-state "eglot.script.jsonl"))
(test-write
 test-script
 (mapconcat
  (lambda (line) (concat (json-encode line) "\n"))
  (list
   '((script . 1) (name . "eglot"))
   (test-turn "read" '((path . "src/lib.rs")))
   (test-turn "edit" '((path . "src/lib.rs") (edits . [((old . "    1\n") (new . "    \"漢字\"\n"))])))
   (test-turn "ask" '((question . "Wie groß?") (choices . ["zwei" "drei"])) "E0308")
   (test-turn "ask" '((question . "Und wie schnell?") (choices . ["langsam" "rasch"]) (path . "src/lib.rs") (line . 3))
              "drei")
   (test-turn "edit" '((path . "src/lib.rs") (edits . [((old . "    \"漢字\"\n") (new . "    3\n"))])) "rasch")
   '((emit . [((text . "Fertig."))])))
  ""))

(setenv "OUTRIGGER_STATE_DIR" test-state)
(define-derived-mode test-rust-mode prog-mode "Rust")
(add-to-list 'auto-mode-alist '("\\.rs\\'" . test-rust-mode))
(add-to-list 'eglot-server-programs `(test-rust-mode . (outrigger-server ,(getenv "OUTRIGGER_BIN") "lsp")))
;; The project is the folder, without a version control system.
(add-hook 'project-find-functions (lambda (_) (cons 'transient test-root)))

(advice-add 'completing-read :override #'test-answer)
(find-file (concat test-root "src/lib.rs"))
(call-interactively #'eglot)
(test-wait "eglot manages the buffer" #'eglot-managed-p)
(flymake-mode 1)
(flymake-start)
(outrigger-run "größer" (concat "scripted:" test-script))
(let ((finding (test-wait "the finding is Flymake's" (lambda () (test-diagnostic "mismatched types")))))
  (unless (string= "\"漢字\"" (buffer-substring (flymake-diagnostic-beg finding) (flymake-diagnostic-end finding)))
    (error "The finding is at %S"
           (buffer-substring (flymake-diagnostic-beg finding) (flymake-diagnostic-end finding))))
  (setq test-passed (1+ test-passed))
  (princ "ok   the finding is exactly at the text that is wrong\n"))
(test-wait "the first question is asked in the minibuffer"
           (lambda () (cl-some (lambda (prompt) (string-match-p "Wie groß" prompt)) test-asked)))
(let ((question (test-wait "the second question is a diagnostic" (lambda () (test-diagnostic "Und wie schnell?")))))
  (test-action (flymake-diagnostic-beg question) (flymake-diagnostic-end question) "rasch"))
(test-wait "the question is gone" (lambda () (not (test-diagnostic "Und wie schnell?"))))
(test-wait "the finding is gone" (lambda () (not (test-diagnostic "mismatched types"))))
(let ((expected (replace-regexp-in-string "    1\n" "    3\n" test-lib)))
  (test-wait "the buffer has the edit" (lambda () (string= expected (buffer-string))))
  (test-wait "the file has the edit"
             (lambda () (string= expected (test-read (concat test-root "src/lib.rs"))))))
(when (or (buffer-modified-p) (not (verify-visited-file-modtime)))
  (error "The buffer and the file have parted"))
(eglot-shutdown (eglot-current-server))
(princ (format "%d passed, 0 failed\n" test-passed))

;;; eglot.el ends here
