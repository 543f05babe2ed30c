;;; support.el --- What the tests of Emacs's clients share -*- lexical-binding: t; coding: utf-8 -*-

;; A project, a script for its model, waiting for facts, and the answer that a person would give in the minibuffer.
;; The folder's name is ASCII: eglot 1.9 does not decode other names in URIs.

;;; Code:

;; -Q skips what a distribution's startup would find.
(dolist (root '("/usr/share/emacs/site-lisp/elpa" "/usr/share/emacs/site-lisp/elpa-src"))
  (when (file-directory-p root)
    (dolist (folder (directory-files root t "^[a-z]"))
      (when (file-directory-p folder)
        (add-to-list 'load-path folder)))))
(require 'cl-lib)
(require 'json)
(require 'project)

(prefer-coding-system 'utf-8)
(setq make-backup-files nil
      create-lockfiles nil)

(defvar test-passed 0)
(defvar test-root (file-name-as-directory (make-temp-file "a project" t)))
(defvar test-state (file-name-as-directory (make-temp-file "state" t)))
(defvar test-lib "//! Größe.\n\npub fn eins() -> u32 {\n    1\n}\n")
(defvar test-asked nil "Prompts of the minibuffer, newest first.")
(defvar test-idle #'ignore "What the client does when Emacs is idle, which a batch Emacs never is.")

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

(defun test-ok (what)
  "Count WHAT as passed."
  (setq test-passed (1+ test-passed))
  (princ (format "ok   %s\n" what)))

(defun test-wait (what fact)
  "Wait until FACT gives non-nil, and give it back; fail naming WHAT."
  (let ((deadline (+ (float-time) 30))
        value)
    (while (and (not (setq value (funcall fact))) (< (float-time) deadline))
      (funcall test-idle)
      (accept-process-output nil 0.02))
    (unless value
      (error "Waited in vain for %s; asked: %S" what test-asked))
    (test-ok what)
    value))

(defun test-turn (tool arguments &optional expected)
  "A turn of the scripted model: calls TOOL with ARGUMENTS, after being shown EXPECTED."
  (append
   (when expected `((expect . ((last . ((contains . ,expected)))))))
   `((emit . [((tool . ,tool) (args . ,arguments))]))))

(defun test-script (name)
  "Write the script NAME; give the model's name."
  (let ((path (concat test-state name ".script.jsonl")))
    (test-write
     path
     (mapconcat
      (lambda (line) (concat (json-encode line) "\n"))
      (list
       `((script . 1) (name . ,name))
       (test-turn "read" '((path . "src/lib.rs")))
       (test-turn "edit" '((path . "src/lib.rs") (edits . [((old . "    1\n") (new . "    \"漢字\"\n"))])))
       (test-turn "ask" '((question . "Wie groß?") (choices . ["zwei" "drei"])) "E0308")
       (test-turn "ask"
                  '((question . "Und wie schnell?") (choices . ["langsam" "rasch"]) (path . "src/lib.rs") (line . 3))
                  "drei")
       (test-turn "edit" '((path . "src/lib.rs") (edits . [((old . "    \"漢字\"\n") (new . "    3\n"))])) "rasch")
       '((emit . [((text . "Fertig."))])))
      ""))
    (concat "scripted:" path)))

(test-write (concat test-root "Cargo.toml")
            "[package]\nname = \"mass\"\nversion = \"0.1.0\"\nedition = \"2021\"\n")
(test-write (concat test-root "src/lib.rs") test-lib)
(setenv "OUTRIGGER_STATE_DIR" test-state)
;; The project is the folder, without a version control system.
(add-hook 'project-find-functions (lambda (_) (cons 'transient test-root)))

(provide 'support)
;;; support.el ends here
